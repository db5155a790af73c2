#include "ops/outer_sum.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// Every number is the sum of n: n − 1 additions for each of 2n.
Cost backward_cost(const Program& program, const Op& op) {
  Formula additions = program[op.inputs[0]].shape.product(2);
  additions += program[op.outputs[0]].shape.product(-1);
  return streaming_cost(program, op, std::move(additions));
}

void gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], outer_sum_backward_operation, {g.of(op.outputs[0])});
}

}  // namespace

const OperationOf<> outer_sum_operation{{"outer_sum", output_cost<1>, gradient}};
const OperationOf<> outer_sum_backward_operation{{"outer_sum_backward", backward_cost, nullptr}};

TensorId outer_sum(Builder& builder, TensorId x, Label label) {
  const Shape shape = builder.shape(x);
  check(shape[-1].size % 2 == 0, "outer_sum", to_string(shape), "two halves of each row");
  const std::int64_t n = shape[-1].size / 2;
  return builder.compute(label, shape.leading().push({n * n, Symbol::experts}), outer_sum_operation, {x});
}

}  // namespace reckon
