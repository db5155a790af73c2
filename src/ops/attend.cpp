// Cost of the lowered attention: the blocks that its kernel visits.
#include "ops/attend.h"

#include <algorithm>

namespace reckon {

std::int64_t attended_pairs(std::int64_t tokens, std::int64_t past, std::int64_t window, std::int64_t query_block) {
  std::int64_t pairs = 0;
  for (std::int64_t first = 0; first < tokens; first += query_block) {
    const std::int64_t last = std::min(first + query_block, tokens);
    const std::int64_t begin = window > 0 ? std::max<std::int64_t>(0, past + first - window + 1) : 0;
    pairs += (last - first) * (past + last - begin);
  }
  return pairs;
}

namespace {

// Inputs: query (B × T × H × m), keys (B × S × K × m), values (B × S × K × n), sinks (H) or no_tensor.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& query = program[op.inputs[0]].shape;
  const Shape& out = program[op.outputs[0]].shape;
  const std::int64_t tokens = query[1].size, past = program.workload.past;
  // Without causality (an encoder's keys) every query sees every key.
  const std::int64_t all_keys = program[op.inputs[1]].shape[1].size;
  const auto& [rule, query_block] = op.attributes<AttendAttributes>();
  const Dim pairs(rule.mask.causal ? attended_pairs(tokens, past, rule.mask.window, query_block) : tokens * all_keys,
                  Symbol::window_pairs);
  const Dim batch = query[0], heads = query[2];
  cost.matmul = Formula(2, {batch, heads, pairs, query[3]});
  cost.matmul += Formula(2, {batch, heads, pairs, out[3]});
  const std::int64_t per_pair =
      5 + (rule.scale != 1.0 ? 1 : 0) + (rule.softcap != 0.0 ? 3 : 0) + (rule.alibi != 0.0 ? 2 : 0);
  cost.elementwise = Formula(per_pair, {batch, heads, pairs});
  const std::int64_t seen = rule.mask.window > 0 ? std::min(past, rule.mask.window - 1) : past;
  const std::int64_t keys = rule.mask.causal ? tokens + seen : all_keys;
  const std::int64_t kv_heads = program[op.inputs[1]].shape[2].size;
  const Count cached = Term(kv_heads).times(batch).times(keys).times(query[3].size + out[3].size).value();
  cost.read = bytes(program[op.inputs[0]]) + whole_blocks(program[op.inputs[1]].dtype, cached);
  cost.written = bytes(program[op.outputs[0]]);
  if (op.outputs.size() > 1) cost.written += bytes(program[op.outputs[1]]);
  return cost;
}

// Five products over the same pairs: q·k again, do·v, and those that make dq, dk and dv. Element-wise, per pair: the
// weight again (scale, difference, exponential) and its gradient p·(dp − Σ do·o), times the scale.
Cost backward_cost(const Program& program, const Op& op) {
  using namespace attend_backward_input;
  Cost cost;
  const Shape& q = program[op.inputs[query]].shape;
  const Shape& o = program[op.inputs[out]].shape;
  const auto& [rule, query_block] = op.attributes<AttendAttributes>();
  const Dim pairs(attended_pairs(q[1].size, program.workload.past, rule.mask.window, query_block),
                  Symbol::window_pairs);
  cost.matmul = Formula(6, {q[0], q[2], pairs, q[3]});
  cost.matmul += Formula(4, {q[0], q[2], pairs, o[3]});
  const std::int64_t per_pair =
      4 + (rule.scale != 1.0 ? 2 : 0) + (rule.softcap != 0.0 ? 7 : 0) + (rule.alibi != 0.0 ? 2 : 0);
  cost.elementwise = Formula(per_pair, {q[0], q[2], pairs});
  cost.elementwise += Formula(o.product(2));
  add_traffic(cost, program, op);
  return cost;
}

}  // namespace

const OperationOf<AttendAttributes> attend_operation{{"attend", cost, nullptr}};
const OperationOf<AttendAttributes> attend_backward_operation{{"attend_backward", backward_cost, nullptr}};

}  // namespace reckon
