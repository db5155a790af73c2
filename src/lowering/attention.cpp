// Follows the scores to their softmax and mixing, and from there to the ops that the gradient rules emitted.
#include "lowering/attention.h"

#include <reckon/error.h>

#include "ops/attention.h"

namespace reckon {
namespace {

std::optional<std::size_t> reader(const Program& program, const Uses& uses, TensorId id, const Operation& operation,
                                  Stage stage) {
  for (std::size_t i : uses.consumers(id)) {
    if (program.ops[i].operation == &operation && program.ops[i].stage == stage) return i;
  }
  return std::nullopt;
}

}  // namespace

WrittenAttention find_attention(const Program& program, const Uses& uses, std::size_t scores) {
  const auto& ops = program.ops;
  // What is computed again stands in the backward stage.
  const Stage stage = ops[scores].stage;
  const auto soft = reader(program, uses, ops[scores].outputs[0], softmax_operation, stage);
  const auto mixed = soft ? reader(program, uses, ops[*soft].outputs[0], mix_operation, stage) : std::nullopt;
  if (!mixed) throw Error("[lowering] scores without their softmax and mixing");
  WrittenAttention found{scores, *soft, *mixed, std::nullopt};

  const TensorId weights = ops[*soft].outputs[0];
  const auto backward = reader(program, uses, weights, softmax_backward_operation, Stage::backward);
  if (!backward) return found;
  const auto to_values = reader(program, uses, weights, spread_operation, Stage::backward);
  WrittenAttention::Backward b{{*backward},
                               no_tensor,
                               no_tensor,
                               no_tensor,
                               no_tensor,
                               ops[*backward].outputs[1],
                               ops[scores].inputs[0],
                               ops[scores].inputs[1],
                               ops[*mixed].inputs[1]};
  const std::int64_t from_values = uses.writer(ops[*backward].inputs[0]);
  if (from_values < 0) throw Error("[lowering] a softmax's gradient that no op made");
  b.ops.push_back(static_cast<std::size_t>(from_values));
  b.d_out = ops[static_cast<std::size_t>(from_values)].inputs[0];
  b.values = ops[static_cast<std::size_t>(from_values)].inputs[1];
  if (to_values) {
    b.ops.push_back(*to_values);
    b.d_values = ops[*to_values].outputs[0];
  }
  TensorId d_scores = ops[*backward].outputs[0];
  if (const auto raw = reader(program, uses, d_scores, scores_backward_operation, Stage::backward)) {
    b.ops.push_back(*raw);
    d_scores = ops[*raw].outputs[0];
  }
  if (const auto to_query = reader(program, uses, d_scores, mix_operation, Stage::backward)) {
    b.ops.push_back(*to_query);
    b.d_query = ops[*to_query].outputs[0];
    b.keys = ops[*to_query].inputs[1];
  }
  if (const auto to_keys = reader(program, uses, d_scores, spread_operation, Stage::backward)) {
    b.ops.push_back(*to_keys);
    b.d_keys = ops[*to_keys].outputs[0];
    b.query = ops[*to_keys].inputs[1];
  }
  std::sort(b.ops.begin(), b.ops.end());
  found.backward = std::move(b);
  return found;
}

}  // namespace reckon
