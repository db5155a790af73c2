#include "ops/attention.h"

#include "ops/rules.h"

#include <algorithm>

namespace reckon {
namespace {

// `operations` for each pair of a grid of scores (B × H × T × S), as the workload counts pairs: all of them, or those
// that the mask lets through. Context ranks share the tokens of a sequence out so that each has as many pairs.
Formula per_pair(const Program& program, const AttentionMask& mask, const Shape& grid, std::int64_t operations,
                 Dim width = {}) {
  const Dim tokens = grid[2], keys = grid[3];
  Term product = Term(operations).times(grid[0]).times(grid[1]).times(width);
  if (program.workload.causal == Causal::full || !mask.causal) return product.times(tokens).times(keys);
  const std::int64_t ranks = program.workload.layout.context;
  // Chunks begin at places in the text, of which a cache may hold the last.
  const std::int64_t past = std::max<std::int64_t>(0, program.workload.past);
  const std::int64_t seen = mask.chunked ? past + tokens.size * ranks : keys.size;
  const Count pairs = visible_pairs(tokens.size * ranks, seen, mask);
  product.over(ranks);
  if (!pairs.is_short()) {  // more than a dimension holds: a plain number in the formula
    product.coefficient *= pairs;
    return product;
  }
  const bool plain = tokens.size * ranks == keys.size && (mask.window == 0 || mask.window >= keys.size);
  return product.times({static_cast<std::int64_t>(pairs), plain ? Symbol::causal_pairs : Symbol::window_pairs});
}

// Scaling is one operation a score, the soft cap three (divide, tanh, multiply). The product: 2·B·H·pairs·m.
Cost scores_cost(const Program& program, const Op& op) {
  const Shape& grid = program[op.outputs[0]].shape;
  const auto& a = op.attributes<ScoresAttributes>();
  const std::int64_t operations = (a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 3 : 0);
  return streaming_cost(program, op, operations > 0 ? per_pair(program, a.mask, grid, operations) : Formula(),
                        per_pair(program, a.mask, grid, 2, program[op.inputs[0]].shape[-1]));
}

// Back through the cap, ds·(1 − (s/c)²) four operations, and the scale, one.
Cost scores_backward_cost(const Program& program, const Op& op) {
  const auto& a = op.attributes<ScoresAttributes>();
  const std::int64_t operations = (a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 4 : 0);
  return streaming_cost(program, op, per_pair(program, a.mask, program[op.outputs[0]].shape, operations));
}

Cost mix_cost(const Program& program, const Op& op) {
  const Shape& grid = program[op.inputs[0]].shape;
  const Dim width = program[op.inputs[1]].shape[-1];
  return streaming_cost(program, op, {}, per_pair(program, op.attributes<AttentionMask>(), grid, 2, width));
}

// A row of n scores: maximum n − 1, differences n, exponentials n, sum n − 1, quotients n  →  5n − 2.
// ALiBi adds slope · distance to each, 2n, and what queries make for distances is added, n; a sink takes part in
// maximum, difference, exponential and sum, 4. Shifts of keys: the sum 1, finding the least that is kept 2, comparing
// with it 1.
Cost softmax_cost(const Program& program, const Op& op) {
  const bool sinks = op.inputs[1] != no_tensor;
  const auto& a = op.attributes<SoftmaxAttributes>();
  const Shape& grid = program[op.outputs[0]].shape;
  const bool added = op.inputs.size() > 2 && op.inputs[2] != no_tensor;
  const int each = 5 + (a.alibi != 0.0 ? 2 : 0) + (a.mask.keep > 0 ? 4 : added ? 1 : 0);
  Formula operations = per_pair(program, a.mask, grid, each);
  operations += grid.leading().product(sinks ? 2 : -2);
  return streaming_cost(program, op, std::move(operations));
}

// ds = p·(dp − Σ dp·p): products n, sum n − 1, differences n, products n  →  4n − 1.
// A sink's own share of the row is 1 − Σ p (n), its gradient −share · Σ dp·p, summed over rows (3). The gradient of a
// key's shift is the sum of those of its scores, 1 each.
Cost softmax_backward_cost(const Program& program, const Op& op) {
  const bool sinks = op.outputs[1] != no_tensor, shifts = op.outputs.size() > 2 && op.outputs[2] != no_tensor;
  const Shape& grid = program[op.outputs[0]].shape;
  Formula operations =
      per_pair(program, op.attributes<SoftmaxAttributes>().mask, grid, 4 + (sinks ? 1 : 0) + (shifts ? 1 : 0));
  operations += grid.leading().product(sinks ? 2 : -1);
  return streaming_cost(program, op, std::move(operations));
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
  g.contribute(query, mix_operation, {ds, key}, attributes.mask);
  g.contribute(key, spread_operation, {ds, query}, attributes.mask);
}

void softmax_gradient(Gradient& g, const Op& op) {
  const TensorId scores = op.inputs[0], sinks = op.inputs[1];
  const TensorId shifts = op.inputs.size() > 2 ? op.inputs[2] : no_tensor;
  const TensorId ds = g.make(scores), d_sinks = g.make_wanted(sinks), d_shifts = g.make_wanted(shifts);
  TensorIds outputs{ds, d_sinks};
  if (shifts != no_tensor) outputs.push_back(d_shifts);
  g.builder().emit(softmax_backward_operation, {g.of(op.outputs[0]), op.outputs[0]}, std::move(outputs),
                   op.attributes<SoftmaxAttributes>());
  g.add(scores, ds);
  g.add(sinks, d_sinks);
  g.add(shifts, d_shifts);
}

// do → dp = do·vᵀ, dv = pᵀ·do
void mix_gradient(Gradient& g, const Op& op) {
  const TensorId weights = op.inputs[0], value = op.inputs[1];
  const TensorId d_out = g.of(op.outputs[0]);
  const auto& mask = op.attributes<AttentionMask>();
  g.contribute(weights, scores_operation, {d_out, value}, {mask});
  g.contribute(value, spread_operation, {weights, d_out}, mask);
}

}  // namespace

Count visible_pairs(std::int64_t tokens, std::int64_t keys, const AttentionMask& mask) {
  const std::int64_t before = keys - tokens, window = mask.window;
  if (mask.chunked && window > 0) {
    // Of the first n positions: whole chunks, and the beginning of one.
    const auto until = [&](std::int64_t n) {
      const Count whole = n / window, rest = n % window;
      return whole * (Count(window) * (window + 1) / 2) + rest * (rest + 1) / 2;
    };
    return until(keys) - until(before);
  }
  const std::int64_t limit = window > 0 ? window : keys;
  // The first `growing` queries see one key more each; the rest see `limit`.
  const Count growing = std::clamp<std::int64_t>(limit - before, 0, tokens);
  return growing * before + growing * (growing + 1) / 2 + (tokens - growing) * limit;
}

const OperationOf<ScoresAttributes> scores_operation{{"scores", scores_cost, scores_gradient}};
const OperationOf<ScoresAttributes> scores_backward_operation{{"scores_backward", scores_backward_cost, nullptr}};
const OperationOf<SoftmaxAttributes> softmax_operation{{"softmax", softmax_cost, softmax_gradient}};
const OperationOf<SoftmaxAttributes> softmax_backward_operation{{"softmax_backward", softmax_backward_cost, nullptr}};
const OperationOf<AttentionMask> mix_operation{{"mix", mix_cost, mix_gradient}};
const OperationOf<AttentionMask> spread_operation{{"spread", mix_cost, nullptr}};

TensorId scores(Builder& builder, TensorId query, TensorId key, const AttentionRule& rule, Label label) {
  const Shape q = builder.shape(query), k = builder.shape(key);
  check(q.rank() == 4 && k.rank() == 4 && q[-1].size == k[-1].size && q[2].size % k[2].size == 0, "scores",
        to_string(q) + " and " + to_string(k), "heads of one width, shared evenly");
  return builder.compute(label, {q[0], q[2], q[1], k[1]}, scores_operation, {query, key},
                         {.mask = rule.mask, .scale = rule.scale, .softcap = rule.softcap});
}

TensorId softmax(Builder& builder, TensorId scores, TensorId sinks, const AttentionRule& rule, Label label,
                 TensorId added) {
  const Shape grid = builder.shape(scores);
  TensorIds inputs{scores, sinks};
  if (added != no_tensor) {
    const Shape s = builder.shape(added);
    const bool shifts = rule.mask.keep > 0;
    check(s.rank() == 4 && (shifts ? s[1].size == grid[3].size && grid[1].size % s[2].size == 0 && s[3].size == 1
                                   : s[1].size == grid[2].size && s[2].size == grid[1].size),
          "softmax", to_string(grid) + " and " + to_string(s),
          "a number for each key, or for distances from each query");
    inputs.push_back(added);
  }
  return builder.compute(label, grid, softmax_operation, std::move(inputs), {rule.mask, rule.alibi});
}

TensorId mix(Builder& builder, TensorId weights, TensorId value, const AttentionRule& rule, Label label) {
  const Shape p = builder.shape(weights), v = builder.shape(value);
  check(p.rank() == 4 && v.rank() == 4 && p[3].size == v[1].size && p[1].size % v[2].size == 0, "mix",
        to_string(p) + " and " + to_string(v), "a value for each key, heads shared evenly");
  return builder.compute(label, {p[0], p[2], p[1], v[3]}, mix_operation, {weights, value}, rule.mask);
}

}  // namespace reckon
