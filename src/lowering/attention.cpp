// Follows the scores to their softmax and mixing, and from there to the ops that the gradient rules emitted.
#include "lowering/attention.h"

#include <reckon/error.h>

#include "ops/attention.h"
#include "ops/collectives.h"
#include "ops/elementwise.h"

#include <map>
#include <utility>

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
  if (!soft) throw Error("[lowering] scores without their softmax");
  const TensorId weights = ops[*soft].outputs[0];
  const auto dropped = reader(program, uses, weights, dropout_operation, stage);
  const TensorId mixing = dropped ? ops[*dropped].outputs[0] : weights;
  const auto mixed = reader(program, uses, mixing, mix_operation, stage);
  if (!mixed) throw Error("[lowering] a softmax without mixing");
  WrittenAttention found{scores, *soft, *mixed, dropped, std::nullopt};

  const auto backward = reader(program, uses, weights, softmax_backward_operation, Stage::backward);
  if (!backward) return found;
  const auto to_values = reader(program, uses, mixing, spread_operation, Stage::backward);
  WrittenAttention::Backward b{{*backward},
                               no_tensor,
                               no_tensor,
                               no_tensor,
                               no_tensor,
                               ops[*backward].outputs[1],
                               ops[*backward].outputs.size() > 2 ? ops[*backward].outputs[2] : no_tensor,
                               ops[scores].inputs[0],
                               ops[scores].inputs[1],
                               ops[*mixed].inputs[1]};
  const auto maker = [&](TensorId id) {
    const std::int64_t op = uses.writer(id);
    if (op < 0) throw Error("[lowering] a softmax's gradient that no op made");
    b.ops.push_back(static_cast<std::size_t>(op));
    return static_cast<std::size_t>(op);
  };
  std::size_t from_values = maker(ops[*backward].inputs[0]);
  if (dropped) from_values = maker(ops[from_values].inputs[0]);
  b.d_out = ops[from_values].inputs[0];
  b.values = ops[from_values].inputs[1];
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

Program without_repeated_scores(Program program) {
  // Only these are computed again from what is kept, so a clone reads what the op that it is a clone of reads.
  const auto between = [](const Op& op) {
    return op.operation == &scores_operation || op.operation == &softmax_operation ||
           op.operation == &dropout_operation || op.operation == &mix_operation;
  };
  std::map<std::pair<const Operation*, TensorIds>, TensorIds> made;  // forward, by what it is made from
  std::map<TensorId, TensorId> first;                                // of a tensor that is made again
  // Keys and values of other ranks may be gathered again: it is told by what is gathered.
  std::map<TensorId, TensorId> parts;
  const auto source = [&](const Op& op) {
    TensorIds ids = op.inputs;
    for (TensorId& id : ids) {
      if (const auto found = parts.find(id); found != parts.end()) id = found->second;
    }
    return std::pair{op.operation, ids};
  };
  std::vector<Op> ops;
  for (Op& op : program.ops) {
    if (op.operation == &all_gather_operation) parts[op.outputs[0]] = op.inputs[0];
    if (op.stage == Stage::forward && between(op)) made[source(op)] = op.outputs;
    if (op.stage == Stage::backward) {
      for (TensorId& id : op.inputs) {
        if (const auto found = first.find(id); found != first.end()) id = found->second;
      }
      const auto found = between(op) ? made.find(source(op)) : made.end();
      if (found != made.end()) {
        for (std::size_t i = 0; i < op.outputs.size(); ++i) first[op.outputs[i]] = found->second[i];
        continue;
      }
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
  find_bodies(program);
  return program;
}

}  // namespace reckon
