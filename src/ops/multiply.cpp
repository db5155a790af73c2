#include "ops/multiply.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// What is left is read.
Cost take_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.read = cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

}  // namespace

const OperationOf<> multiply_operation{{"multiply", output_cost<1>, nullptr}};
const OperationOf<> take_operation{{"take", take_cost, nullptr}};

TensorId multiply(Builder& builder, TensorId x, TensorId factor, Label label) {
  check(builder.shape(factor).elements() == 1, "multiply", to_string(builder.shape(factor)), "one number");
  return builder.compute(label, builder.shape(x), multiply_operation, {x, factor});
}

TensorId take(Builder& builder, TensorId x, Dim width, Label label) {
  const Shape shape = builder.shape(x);
  check(width.size <= shape[-1].size, "take", to_string(shape), "rows at least as wide as what is left of them");
  return builder.compute(label, shape.leading().push(width), take_operation, {x});
}

}  // namespace reckon
