#include "ops/softmax.h"

#include "ops/gradient.h"
#include "ops/pairs.h"

namespace reckon {
namespace {

Formula grid_cost(const Program& program, const AttentionMask& mask, const Shape& grid, std::int64_t per_pair,
                  std::int64_t per_row) {
  Formula formula = times_pairs(Term(per_pair).times(grid[0]).times(grid[1]), program, mask, grid);
  if (per_row != 0) formula += Formula(per_row, {grid[0], grid[1], grid[2]});
  return formula;
}

// A row of n scores: maximum n − 1, differences n, exponentials n, sum n − 1, quotients n  →  5n − 2.
// ALiBi adds slope · distance to each, 2n; a sink takes part in maximum, difference, exponential and sum, 4.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const bool sinks = op.inputs[1] != no_tensor;
  const auto& a = op.attributes<SoftmaxAttributes>();
  cost.elementwise = grid_cost(program, a.mask, program[op.outputs[0]].shape, a.alibi != 0.0 ? 7 : 5, sinks ? 2 : -2);
  add_traffic(cost, program, op);
  return cost;
}

// ds = p·(dp − Σ dp·p): products n, sum n − 1, differences n, products n  →  4n − 1.
// A sink's own share of the row is 1 − Σ p (n), its gradient −share · Σ dp·p, summed over rows (3).
Cost backward_cost(const Program& program, const Op& op) {
  Cost cost;
  const bool sinks = op.outputs[1] != no_tensor;
  const AttentionMask& mask = op.attributes<SoftmaxAttributes>().mask;
  cost.elementwise = grid_cost(program, mask, program[op.outputs[0]].shape, sinks ? 5 : 4, sinks ? 2 : -1);
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId scores = op.inputs[0], sinks = op.inputs[1];
  const TensorId ds = g.make(scores);
  const TensorId d_sinks = g.wanted(sinks) ? g.make(sinks) : no_tensor;
  g.builder().emit(softmax_backward_operation, {g.of(op.outputs[0]), op.outputs[0]}, {ds, d_sinks},
                   op.attributes<SoftmaxAttributes>());
  g.add(scores, ds);
  if (d_sinks != no_tensor) g.add(sinks, d_sinks);
}

}  // namespace

const OperationOf<SoftmaxAttributes> softmax_operation{{"softmax", cost, gradient}};
const OperationOf<SoftmaxAttributes> softmax_backward_operation{{"softmax_backward", backward_cost, nullptr}};

TensorId softmax(Builder& builder, TensorId scores, TensorId sinks, const AttentionRule& rule, Label label) {
  const TensorId p = builder.activation(label, builder.shape(scores));
  builder.emit(softmax_operation, {scores, sinks}, {p}, {rule.mask, rule.alibi});
  return p;
}

}  // namespace reckon
