#include "ops/last.h"

#include "ops/rules.h"

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
  return builder.compute(label, {shape[0], {1, Symbol::tokens}, shape[2]}, last_operation, {x});
}

}  // namespace reckon
