#include "ops/last.h"

#include "ops/check.h"

namespace reckon {
namespace {

Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.read = cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

}  // namespace

// Training asks for every logit, so it is never differentiated.
const OperationOf<> last_operation{{"last", cost, nullptr}};

TensorId last(Builder& builder, TensorId x, Label label) {
  const Shape shape = builder.shape(x);
  check(shape.rank() == 3, "last", to_string(shape), "batch × tokens × width");
  const TensorId y = builder.activation(label, {shape[0], {1, Symbol::tokens}, shape[2]});
  builder.emit(last_operation, {x}, {y});
  return y;
}

}  // namespace reckon
