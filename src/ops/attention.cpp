#include "ops/attention.h"

#include "ops/check.h"
#include "ops/gradient.h"
#include "ops/pairs.h"

namespace reckon {
namespace {

// 2·B·H·pairs·m
Formula matmul(const Program& program, const AttentionMask& mask, const Shape& grid, Dim width) {
  return times_pairs(Term(2).times(grid[0]).times(grid[1]).times(width), program, mask, grid);
}

Formula per_pair(const Program& program, const AttentionMask& mask, const Shape& grid, std::int64_t operations) {
  return times_pairs(Term(operations).times(grid[0]).times(grid[1]), program, mask, grid);
}

// Scaling is one operation a score, the soft cap three (divide, tanh, multiply).
Cost scores_cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& grid = program[op.outputs[0]].shape;
  const auto& a = op.attributes<ScoresAttributes>();
  cost.matmul = matmul(program, a.mask, grid, program[op.inputs[0]].shape[-1]);
  const std::int64_t operations = (a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 3 : 0);
  if (operations > 0) cost.elementwise = per_pair(program, a.mask, grid, operations);
  add_traffic(cost, program, op);
  return cost;
}

// Back through the cap, ds·(1 − (s/c)²) four operations, and the scale, one.
Cost scores_backward_cost(const Program& program, const Op& op) {
  Cost cost;
  const auto& a = op.attributes<ScoresAttributes>();
  const std::int64_t operations = (a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 4 : 0);
  cost.elementwise = per_pair(program, a.mask, program[op.outputs[0]].shape, operations);
  add_traffic(cost, program, op);
  return cost;
}

Cost mix_cost(const Program& program, const Op& op) {
  Cost cost;
  const auto& mask = op.attributes<AttentionMask>();
  cost.matmul = matmul(program, mask, program[op.inputs[0]].shape, program[op.inputs[1]].shape[-1]);
  add_traffic(cost, program, op);
  return cost;
}

// ds → dq = ds·k, dk = dsᵀ·q
void scores_gradient(Gradient& g, const Op& op) {
  const TensorId query = op.inputs[0], key = op.inputs[1];
  TensorId ds = g.of(op.outputs[0]);
  const auto& attributes = op.attributes<ScoresAttributes>();
  if (attributes.scale != 1.0 || attributes.softcap != 0.0) {
    const TensorId raw = g.make(op.outputs[0]);
    const TensorId capped = attributes.softcap != 0.0 ? op.outputs[0] : no_tensor;
    g.builder().emit(scores_backward_operation, {ds, capped}, {raw}, attributes);
    ds = raw;
  }
  if (g.wanted(query)) {
    const TensorId dq = g.make(query);
    g.builder().emit(mix_operation, {ds, key}, {dq}, attributes.mask);
    g.add(query, dq);
  }
  if (g.wanted(key)) {
    const TensorId dk = g.make(key);
    g.builder().emit(spread_operation, {ds, query}, {dk}, attributes.mask);
    g.add(key, dk);
  }
}

// do → dp = do·vᵀ, dv = pᵀ·do
void mix_gradient(Gradient& g, const Op& op) {
  const TensorId weights = op.inputs[0], value = op.inputs[1];
  const TensorId d_out = g.of(op.outputs[0]);
  const auto& mask = op.attributes<AttentionMask>();
  if (g.wanted(weights)) {
    const TensorId dp = g.make(weights);
    g.builder().emit(scores_operation, {d_out, value}, {dp}, {mask});
    g.add(weights, dp);
  }
  if (g.wanted(value)) {
    const TensorId dv = g.make(value);
    g.builder().emit(spread_operation, {weights, d_out}, {dv}, mask);
    g.add(value, dv);
  }
}

}  // namespace

const OperationOf<ScoresAttributes> scores_operation{{"scores", scores_cost, scores_gradient}};
const OperationOf<ScoresAttributes> scores_backward_operation{{"scores_backward", scores_backward_cost, nullptr}};
const OperationOf<AttentionMask> mix_operation{{"mix", mix_cost, mix_gradient}};
const OperationOf<AttentionMask> spread_operation{{"spread", mix_cost, nullptr}};

TensorId scores(Builder& builder, TensorId query, TensorId key, const AttentionRule& rule, Label label) {
  const Shape q = builder.shape(query), k = builder.shape(key);
  check(q.rank() == 4 && k.rank() == 4 && q[-1].size == k[-1].size && q[2].size % k[2].size == 0, "scores",
        to_string(q) + " and " + to_string(k), "heads of one width, shared evenly");
  const TensorId s = builder.activation(label, {q[0], q[2], q[1], k[1]});
  builder.emit(scores_operation, {query, key}, {s}, {.mask = rule.mask, .scale = rule.scale, .softcap = rule.softcap});
  return s;
}

TensorId mix(Builder& builder, TensorId weights, TensorId value, const AttentionRule& rule, Label label) {
  const Shape p = builder.shape(weights), v = builder.shape(value);
  check(p.rank() == 4 && v.rank() == 4 && p[3].size == v[1].size && p[1].size % v[2].size == 0, "mix",
        to_string(p) + " and " + to_string(v), "a value for each key, heads shared evenly");
  const TensorId y = builder.activation(label, {p[0], p[2], p[1], v[3]});
  builder.emit(mix_operation, {weights, value}, {y}, rule.mask);
  return y;
}

}  // namespace reckon
