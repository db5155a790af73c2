#include "passes/gather_again.h"

#include "ops/collectives.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace reckon {
namespace {

// The first op of the backward pass of that one's layer.
std::size_t first_of_layer(const std::vector<Op>& ops, std::size_t reader) {
  std::size_t first = reader;
  if (ops[reader].scope.layer < 0) return first;
  for (std::size_t i = reader; i-- > 0;) {
    const Op& op = ops[i];
    if (op.stage != Stage::backward || op.repeat != ops[reader].repeat) break;
    if (op.scope.layer == ops[reader].scope.layer) first = i;
  }
  return first;
}

}  // namespace

Differentiated gather_again(Differentiated differentiated) {
  Program& program = differentiated.program;
  std::map<TensorId, std::size_t> gathers;  // by result, the op
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.operation == &all_gather_operation && op.stage == Stage::forward) gathers.emplace(op.outputs[0], i);
  }
  if (gathers.empty()) return differentiated;

  std::map<std::pair<TensorId, std::int32_t>, TensorId> again;  // by body
  std::map<std::size_t, std::vector<Op>> before;                // by the op that they stand before
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].stage != Stage::backward) continue;
    for (std::size_t k = 0; k < program.ops[i].inputs.size(); ++k) {
      const auto found = gathers.find(program.ops[i].inputs[k]);
      if (found == gathers.end()) continue;
      const std::int32_t repeat = program.ops[i].repeat;
      const auto [copy, is_new] = again.emplace(std::pair{found->first, repeat}, no_tensor);
      if (is_new) {
        Tensor tensor = program[found->first];
        tensor.repeat = repeat;
        copy->second = static_cast<TensorId>(program.tensors.size());
        program.tensors.push_back(tensor);
        Op op = program.ops[found->second];
        const bool parameter = program[op.inputs[0]].kind == TensorKind::parameter;
        op.outputs[0] = copy->second;
        op.stage = Stage::backward;
        op.repeat = repeat;
        before[parameter ? first_of_layer(program.ops, i) : i].push_back(std::move(op));
      }
      program.ops[i].inputs[k] = copy->second;
    }
  }
  std::vector<Op> ops;
  ops.reserve(program.ops.size() + again.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (const auto found = before.find(i); found != before.end())
      std::move(found->second.begin(), found->second.end(), std::back_inserter(ops));
    ops.push_back(std::move(program.ops[i]));
  }
  program.ops = std::move(ops);
  find_bodies(program);
  return differentiated;
}

}  // namespace reckon
