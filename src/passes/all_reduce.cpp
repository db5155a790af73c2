#include "passes/all_reduce.h"

#include "ops/collectives.h"
#include "ops/update.h"
#include "passes/shard.h"

#include <algorithm>
#include <map>

namespace reckon {
namespace {

struct Finished {
  TensorId gradient;
  std::size_t writer;  // the last op that writes to its memory
  std::int64_t ranks;  // over which it is summed
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
    if (is_update(*op.operation)) {
      const TensorId gradient = op.inputs[update_input::gradient];
      const std::int64_t ranks = alike_ranks(program.workload.layout, program[op.inputs[update_input::parameter]]);
      if (ranks > 1) gradients.push_back({gradient, writers.at(owner(gradient)), ranks});
    }
    if (op.stage == Stage::optimizer) continue;
    for (TensorId id : op.outputs) {
      if (id != no_tensor) writers[owner(id)] = i;
    }
  }
  std::stable_sort(gradients.begin(), gradients.end(),
                   [](const Finished& a, const Finished& b) { return a.writer < b.writer; });
  return gradients;
}

// Whether nothing but ops of one iteration, or of none, lies between two ops.
bool same_iteration(const Program& program, std::size_t first, std::size_t last) {
  return std::all_of(program.ops.begin() + static_cast<std::ptrdiff_t>(first),
                     program.ops.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                     [&](const Op& op) { return op.repeat == program.ops[first].repeat; });
}

}  // namespace

Program sum_over_ranks(Program program, std::int64_t bucket) {
  struct Bucket {
    TensorIds gradients;
    std::int32_t repeat;
    std::int64_t ranks;
  };
  std::map<std::size_t, Bucket> buckets;  // by the op behind which they are whole
  TensorIds open;
  Count filled;
  const std::vector<Finished> gradients = finished_gradients(program);
  if (gradients.empty()) return program;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto [gradient, writer, ranks] = gradients[i];
    open.push_back(gradient);
    filled += static_cast<std::int64_t>(bytes(program[gradient]));
    if (i + 1 < gradients.size()) {
      const Finished& next = gradients[i + 1];
      const bool fits = filled < bucket && next.ranks == ranks && same_iteration(program, writer, next.writer);
      if (next.writer == writer || fits) continue;
    }
    buckets[writer] = {std::move(open), program.ops[writer].repeat, ranks};
    open.clear();
    filled = 0;
  }

  const Scope scope{{Block::optimizer}};
  std::vector<Op> ops = std::move(program.ops);
  program.ops.clear();
  const auto await_all = [&] {
    std::map<std::int32_t, std::int32_t> waits{{-1, -1}};  // of a backward body, the one that awaits its sums
    for (const auto& [writer, b] : buckets) {
      const auto [wait, is_new] = waits.emplace(b.repeat, static_cast<std::int32_t>(program.repeats.size()));
      if (is_new) {
        Repeat repeat = program.repeats[static_cast<std::size_t>(b.repeat)];
        repeat.carried.clear();
        program.repeats.push_back(std::move(repeat));
      }
      program.ops.emplace_back(all_reduce_wait_operation, b.gradients, b.gradients, AllReduceAttributes{b.ranks}, scope,
                               Stage::optimizer, wait->second);
    }
  };
  bool awaited = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].stage == Stage::optimizer && !awaited) {
      await_all();
      awaited = true;
    }
    program.ops.push_back(std::move(ops[i]));
    if (const auto found = buckets.find(i); found != buckets.end()) {
      const Bucket& b = found->second;
      program.ops.emplace_back(all_reduce_start_operation, b.gradients, TensorIds{}, AllReduceAttributes{b.ranks},
                               scope, Stage::backward, b.repeat);
    }
  }
  find_bodies(program);
  return program;
}

}  // namespace reckon
