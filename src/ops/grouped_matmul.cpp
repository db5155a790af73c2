// The products of experts: each row with the weight of its own expert.
#include "ops/mixture.h"
#include "ops/rules.h"

#include <algorithm>

namespace reckon {
namespace {

// Where there are identity experts too, none of the others may have been chosen.
void allow_identity(const Program& program, Cost& cost, TensorId offsets, std::int64_t experts) {
  if (program[offsets].shape[0].size == experts + 1) return;
  cost.matmul_least = cost.elementwise_least = 0;
  cost.read_least = cost.weights = 0;
}

// 2 · rows · N · K. Of the weights, as many experts are read as rows chose: from k (all tokens agree) to
// min(E, rows).
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Tensor& rows = program[op.inputs[0]];
  const Tensor& weight = program[op.inputs[1]];
  const Tensor& y = program[op.outputs[0]];
  cost.matmul = Formula(rows.shape.product(2).times(y.shape[-1]));
  if (op.inputs[2] != no_tensor) cost.elementwise = y.shape.product();
  const std::int64_t experts = weight.shape[0].size, active = rows.shape[-2].size;
  const Count chosen = std::min<Count>(experts, rows.shape.leading().product().value());
  Count expert_bytes = bytes(weight) / experts;
  if (op.inputs[2] != no_tensor) expert_bytes += bytes(program[op.inputs[2]]) / experts;
  const Count other = bytes(rows) + bytes(program[op.inputs[3]]);
  cost.read = other + chosen * expert_bytes;
  cost.weights = active * expert_bytes;
  cost.read_least = other + cost.weights;
  cost.written = bytes(y);
  allow_identity(program, cost, op.inputs[3], experts);
  return cost;
}

Cost weight_gradient_cost(const Program& program, const Op& op) {
  const Shape &dy = program[op.inputs[0]].shape, &sum = program[op.outputs[0]].shape;
  Cost cost = streaming_cost(program, op, {}, dy.product(2).times(sum[-1]));
  allow_identity(program, cost, op.inputs[2], sum[0].size);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId rows = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2], offsets = op.inputs[3];
  const TensorId dy = g.of(op.outputs[0]);
  g.contribute(rows, grouped_matmul_operation, {dy, weight, no_tensor, offsets}, {.transpose_b = false});
  g.contribute(weight, grouped_weight_gradient_operation, {dy, rows, offsets});
  g.contribute(bias, grouped_bias_gradient_operation, {dy, offsets});
}

}  // namespace

const OperationOf<GroupedMatmulAttributes> grouped_matmul_operation{{"grouped_matmul", cost, gradient}};
const OperationOf<> grouped_weight_gradient_operation{{"grouped_weight_gradient", weight_gradient_cost, nullptr}};
// Each row of dy is added to its expert's.
const OperationOf<> grouped_bias_gradient_operation{{"grouped_bias_gradient", input_cost<0, 1>, nullptr}};

TensorId grouped_linear(Builder& builder, TensorId rows, TensorId weight, TensorId bias, TensorId offsets,
                        Label label) {
  const Shape in = builder.shape(rows), w = builder.shape(weight);
  check(w.rank() == 3 && in[-1].size == w[-1].size, "grouped_matmul", to_string(in) + " and " + to_string(w),
        "a last dimension that both share");
  return builder.compute(label, in.leading().push(w[1]), grouped_matmul_operation, {rows, weight, bias, offsets},
                         {.transpose_b = true});
}

}  // namespace reckon
