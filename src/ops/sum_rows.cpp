#include "ops/sum_rows.h"

namespace reckon {
namespace {

// n rows of m elements: (n − 1)·m additions.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[0]].shape.product();
  cost.elementwise += program[op.outputs[0]].shape.product(-1);
  add_traffic(cost, program, op);
  return cost;
}

}  // namespace

const OperationOf<> sum_rows_operation{{"sum_rows", cost, nullptr}};

TensorId sum_rows(Gradient& gradient, TensorId dy, TensorId parameter) {
  const TensorId sum = gradient.make(parameter);
  gradient.builder().emit(sum_rows_operation, {dy}, {sum});
  return sum;
}

}  // namespace reckon
