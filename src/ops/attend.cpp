// Cost of the lowered attention: the blocks that its kernel visits.
#include "ops/attend.h"

#include "ops/rules.h"

#include <algorithm>

namespace reckon {

std::int64_t attended_pairs(std::int64_t tokens, std::int64_t past, const AttentionMask& mask,
                            std::int64_t query_block) {
  std::int64_t pairs = 0;
  for (std::int64_t first = 0; first < tokens; first += query_block) {
    const std::int64_t last = std::min(first + query_block, tokens);
    pairs += (last - first) * (past + last - first_seen(mask, past + first));
  }
  return pairs;
}

std::int64_t softened_pairs(std::int64_t tokens, std::int64_t past, const AttentionMask& mask,
                            std::int64_t query_block) {
  const std::int64_t last = tokens % query_block;  // queries of the last block
  if (last == 0 || last > few_queries) return attended_pairs(tokens, past, mask, query_block);
  return attended_pairs(tokens - last, past, mask, query_block) +
         static_cast<std::int64_t>(visible_pairs(last, past + tokens, mask));
}

namespace {

// What is done to a score before its softmax. The soft cap's own factor takes the scale in.
std::int64_t score_operations(const AttentionRule& rule) {
  return (rule.softcap != 0.0 ? 3
          : rule.scale != 1.0 ? 1
                              : 0) +
         (rule.alibi != 0.0 ? 2 : 0) + (rule.mask.keep > 0 ? 4 : 0);
}

// Those of a whole sequence: context ranks share them out, each with as many pairs of query and key.
std::int64_t tokens_of_all_ranks(const Program& program, const Shape& query) {
  return query[1].size * program.workload.layout.context;
}
Formula of_rank(const Program& program, std::int64_t operations, std::initializer_list<Dim> factors) {
  Term product(operations);
  for (const Dim& factor : factors) product.times(factor);
  return product.over(program.workload.layout.context);
}

Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& query = program[op.inputs[0]].shape;
  const Shape& out = program[op.outputs[0]].shape;
  const std::int64_t tokens = tokens_of_all_ranks(program, query), past = program.workload.past;
  // Without causality (an encoder's keys) every query sees every key.
  const std::int64_t all_keys = program[op.inputs[1]].shape[1].size;
  const auto& [rule, query_block, dropout] = op.attributes<AttendAttributes>();
  const std::int64_t all = tokens * all_keys;
  const Dim pairs(rule.mask.causal ? attended_pairs(tokens, past, rule.mask, query_block) : all, Symbol::window_pairs);
  const Dim softened(rule.mask.causal ? softened_pairs(tokens, past, rule.mask, query_block) : all,
                     Symbol::window_pairs);
  const Dim batch = query[0], heads = query[2];
  cost.matmul = of_rank(program, 2, {batch, heads, pairs, query[3]});
  cost.matmul += of_rank(program, 2, {batch, heads, pairs, out[3]});
  // A pair: maximum, difference, exponential, sum. The quotient is taken of what was mixed.
  // Dropout: a comparison and a product.
  const bool relative = rule.mask.keep == 0 && op.inputs.size() > 5 && op.inputs[5] != no_tensor;
  const std::int64_t per_pair = 4 + score_operations(rule) + (dropout > 0 ? 2 : 0) + (relative ? 1 : 0);
  cost.elementwise = of_rank(program, per_pair, {batch, heads, softened});
  cost.elementwise += Formula(out.product());
  if (op.outputs.size() > 1) cost.elementwise += Formula(program[op.outputs[1]].shape.product(2));  // log, + maximum
  const std::int64_t seen = past - first_seen(rule.mask, past);
  const std::int64_t keys = rule.mask.causal ? tokens + seen : all_keys;
  const std::int64_t kv_heads = program[op.inputs[1]].shape[2].size;
  const Count cached = Term(kv_heads).times(batch).times(keys).times(query[3].size + out[3].size).value();
  cost.read = bytes(program[op.inputs[0]]) + whole_blocks(program[op.inputs[1]].dtype, cached);
  if (rule.mask.keep > 0) cost.read += Term(4 * kv_heads).times(batch).times(keys).value();  // shifts
  if (op.inputs[3] != no_tensor) cost.read += 4 * heads.size;  // sinks, float32 in memory as all vectors
  if (relative) cost.read += bytes(program[op.inputs[5]]);
  cost.written = bytes(program[op.outputs[0]]);
  if (op.outputs.size() > 1) cost.written += bytes(program[op.outputs[1]]);
  return cost;
}

// Five products over the same pairs: q·k again, do·v, and those that make dq, dk and dv. Element-wise, per pair that is
// visible: the weight again (score, difference, exponential) and its gradient p·(dp − Σ do·o), times the scale and that
// of the cap, 1 − (s/c)²; dropout takes a comparison, and a product each of the weight and of its gradient. A row of o
// takes its Σ do·o; for a sink it takes it again, with a share e^(sink − lse) of it subtracted.
Cost backward_cost(const Program& program, const Op& op) {
  using namespace attend_backward_input;
  const Shape& q = program[op.inputs[query]].shape;
  const Shape& o = program[op.inputs[out]].shape;
  const auto& [rule, query_block, dropout] = op.attributes<AttendAttributes>();
  const std::int64_t tokens = tokens_of_all_ranks(program, q), past = program.workload.past;
  const Dim pairs(attended_pairs(tokens, past, rule.mask, query_block), Symbol::window_pairs);
  Formula products = of_rank(program, 6, {q[0], q[2], pairs, q[3]});
  products += of_rank(program, 4, {q[0], q[2], pairs, o[3]});
  const Count seen = visible_pairs(tokens, past + tokens, rule.mask);
  const Dim visible(static_cast<std::int64_t>(seen), Symbol::window_pairs);
  const std::int64_t per_pair = 4 + score_operations(rule) + (rule.scale != 1.0 ? 1 : 0) +
                                (rule.softcap != 0.0 ? 4 : 0) + (dropout > 0 ? 3 : 0) +
                                (rule.mask.keep > 0 ? 1 : 0);  // a shift's gradient is a sum
  Formula operations = of_rank(program, per_pair, {q[0], q[2], visible});
  const bool sink = op.outputs[attend_backward_output::d_sinks] != no_tensor;
  operations += elements_and_rows(o, sink ? 4 : 2, sink ? 2 : -1);
  return streaming_cost(program, op, std::move(operations), std::move(products));
}

}  // namespace

const OperationOf<AttendAttributes> attend_operation{{"attend", cost, nullptr}};
const OperationOf<AttendAttributes> attend_backward_operation{{"attend_backward", backward_cost, nullptr}};

}  // namespace reckon
