#include "ops/multiply.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// dx = w·dy, a product an element; dw = Σ dy·x, a product and an addition.
void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], w = op.inputs[1], dy = g.of(op.outputs[0]);
  if (!g.wanted(w)) return g.contribute(x, multiply_operation, {dy, w});
  const TensorId dx = g.make(x), dw = g.make(w);
  g.builder().emit(multiply_backward_operation, {dy, x, w}, {dx, dw});
  g.add(x, dx);
  g.add(w, dw);
}

// What is left is read.
Cost take_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.read = cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

}  // namespace

const OperationOf<> multiply_operation{{"multiply", output_cost<1>, gradient}};
const OperationOf<> multiply_backward_operation{{"multiply_backward", output_cost<3>, nullptr}};
const OperationOf<> take_operation{{"take", take_cost, nullptr}};

TensorId multiply(Builder& builder, TensorId x, TensorId w, Label label) {
  const Shape shape = builder.shape(x);
  const std::int64_t factors = builder.shape(w).elements();
  check(factors == 1 || factors == shape[-1].size, "multiply", to_string(shape) + " and " + to_string(builder.shape(w)),
        "a factor for each element of a row, or one");
  return builder.compute(label, shape, multiply_operation, {x, w});
}

TensorId take(Builder& builder, TensorId x, Dim width, Label label) {
  const Shape shape = builder.shape(x);
  check(width.size <= shape[-1].size, "take", to_string(shape), "rows at least as wide as what is left of them");
  return builder.compute(label, shape.leading().push(width), take_operation, {x});
}

}  // namespace reckon
