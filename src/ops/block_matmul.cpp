#include "ops/block_matmul.h"

#include "ops/elementwise.h"
#include "ops/rules.h"

namespace reckon {
namespace {

Cost cost(const Program& program, const Op& op) {
  const Shape &x = program[op.inputs[0]].shape, &y = program[op.outputs[0]].shape;
  Formula bias = op.inputs[2] != no_tensor ? Formula(y.product()) : Formula();
  return streaming_cost(program, op, std::move(bias), x.product(2).times(y[-1]));
}

// dyᵀ·x of each head.
Cost weight_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, {}, program[op.inputs[0]].shape.product(2).times(program[op.inputs[1]].shape[-1]));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2], dy = g.of(op.outputs[0]);
  g.contribute(x, block_matmul_operation, {dy, weight, no_tensor}, {.transposed = true});
  g.contribute(weight, block_weight_gradient_operation, {dy, x});
  g.contribute(bias, sum_rows_operation, {dy});
}

}  // namespace

const OperationOf<BlockMatmulAttributes> block_matmul_operation{{"block_matmul", cost, gradient}};
const OperationOf<> block_weight_gradient_operation{{"block_weight_gradient", weight_cost, nullptr}};

TensorId block_linear(Builder& builder, TensorId x, TensorId weight, TensorId bias, Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(in.rank() == 4 && w.rank() == 3 && w[0].size == in[2].size && w[2].size == in[3].size, "block_matmul",
        to_string(in) + " and " + to_string(w), "a matrix for each head, as wide as it");
  return builder.compute(label, in.leading().push(w[1]), block_matmul_operation, {x, weight, bias}, {});
}

}  // namespace reckon
