#include "passes/all_reduce.h"

#include "ops/adamw.h"
#include "ops/all_reduce.h"

#include <algorithm>
#include <map>

namespace reckon {
namespace {

struct Finished {
  TensorId gradient;
  std::size_t writer;  // the last op that writes to its memory
};

// The gradients that the optimizer reads, in the order in which they are finished.
std::vector<Finished> finished_gradients(const Program& program) {
  const auto owner = [&](TensorId id) {
    while (program[id].storage != no_tensor) id = program[id].storage;
    return id;
  };
  std::map<TensorId, std::size_t> writers;
  std::vector<Finished> gradients;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.operation == &adamw_operation) gradients.push_back({op.inputs[1], writers.at(owner(op.inputs[1]))});
    if (op.stage == Stage::optimizer) continue;
    for (TensorId id : op.outputs) {
      if (id != no_tensor) writers[owner(id)] = i;
    }
  }
  std::stable_sort(gradients.begin(), gradients.end(),
                   [](const Finished& a, const Finished& b) { return a.writer < b.writer; });
  return gradients;
}

}  // namespace

Program sum_over_ranks(Program program, std::int64_t ranks, std::int64_t bucket) {
  std::map<std::size_t, TensorIds> buckets;  // by the op behind which they are whole
  TensorIds open;
  Count filled;
  const std::vector<Finished> gradients = finished_gradients(program);
  for (const Finished& finished : gradients) {
    open.push_back(finished.gradient);
    filled += bytes(program[finished.gradient]);
    const bool last = &finished == &gradients.back();
    const bool next_is_there = !last && (&finished + 1)->writer == finished.writer;
    if (!last && (filled < bucket || next_is_there)) continue;
    buckets[finished.writer] = std::move(open);
    open.clear();
    filled = 0;
  }

  const AllReduceAttributes attributes{ranks};
  const Scope scope{{Block::optimizer}};
  std::vector<Op> ops = std::move(program.ops);
  program.ops.clear();
  bool awaited = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].stage == Stage::optimizer && !awaited) {
      for (const auto& [writer, ids] : buckets) {
        program.ops.emplace_back(all_reduce_wait_operation, ids, ids, attributes, scope, Stage::optimizer);
      }
      awaited = true;
    }
    program.ops.push_back(std::move(ops[i]));
    if (const auto found = buckets.find(i); found != buckets.end()) {
      program.ops.emplace_back(all_reduce_start_operation, found->second, TensorIds{}, attributes, scope,
                               Stage::backward);
    }
  }
  return program;
}

}  // namespace reckon
