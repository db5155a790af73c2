// Liveness: a tensor lives from the op that first writes it to the last that reads it. Layout: largest first, each at
// the lowest place that is free for its whole life.
#include "memory/plan.h"

#include "files/checked.h"
#include "lowering/regions.h"

#include <algorithm>
#include <limits>

namespace reckon {
namespace {

struct Life {
  TensorId id;
  std::int64_t first, last;  // regions
  std::int64_t size;         // bytes, padded
};

bool in_arena(TensorKind kind) {
  return kind == TensorKind::activation || kind == TensorKind::input || kind == TensorKind::gradient;
}

std::vector<Life> lives(const Program& program, const std::vector<std::int64_t>& regions) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::vector<Life> life(program.tensors.size());
  for (std::size_t i = 0; i < life.size(); ++i) {
    life[i] = {static_cast<TensorId>(i), never, -1, 0};
  }
  const auto touch = [&](TensorId id, std::int64_t region) {
    if (id == no_tensor) return;
    Life& l = life[static_cast<std::size_t>(placement(program, id).root)];
    l.first = std::min(l.first, region);
    l.last = std::max(l.last, region);
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (TensorId id : program.ops[i].inputs) touch(id, regions[i]);
    for (TensorId id : program.ops[i].outputs) touch(id, regions[i]);
  }
  touch(program.output, regions.back());
  const std::vector<bool> outlives = parameter_gradients(program);
  std::erase_if(life, [&](const Life& l) {
    return l.last < 0 || !in_arena(program[l.id].kind) || outlives[static_cast<std::size_t>(l.id)];
  });
  for (Life& l : life) {
    l.size = padded(static_cast<std::int64_t>(bytes(program[l.id])));
    if (program[l.id].kind == TensorKind::input) l.first = 0;  // filled before the first op
  }
  return life;
}

}  // namespace

std::vector<bool> parameter_gradients(const Program& program) {
  std::vector<bool> found(program.tensors.size(), false);
  for (const Op& op : program.ops) {
    if (op.stage != Stage::optimizer) continue;
    for (TensorId id : op.inputs) {
      if (id == no_tensor || program[id].kind != TensorKind::gradient) continue;
      found[static_cast<std::size_t>(placement(program, id).root)] = true;
    }
  }
  return found;
}

Plan plan_memory(const Program& program) {
  Plan plan;
  plan.offsets.assign(program.tensors.size(), -1);
  plan.regions = parallel_regions(program);
  plan.live.assign(program.ops.size(), 0);
  const std::vector<bool> outlives = parameter_gradients(program);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.storage != no_tensor) continue;
    const auto size = static_cast<std::int64_t>(bytes(tensor));
    if (outlives[i]) plan.gradients = checked_add(plan.gradients, size, "the gradients");
    if (tensor.kind == TensorKind::optimizer_state) {
      plan.optimizer = checked_add(plan.optimizer, size, "the optimizer's state");
    }
    if (tensor.kind == TensorKind::parameter) plan.weights = checked_add(plan.weights, size, "the weights");
    if (tensor.kind == TensorKind::cache) plan.cache = checked_add(plan.cache, size, "the cache");
    if (tensor.kind == TensorKind::constant) plan.constants = checked_add(plan.constants, size, "the constants");
  }

  std::vector<Life> order = lives(program, plan.regions);
  std::stable_sort(order.begin(), order.end(), [](const Life& a, const Life& b) { return a.size > b.size; });
  std::vector<Life> placed;  // by offset
  for (const Life& life : order) {
    // Walk the placed tensors that live at the same time, from the lowest, and take the first gap.
    std::int64_t offset = 0;
    for (const Life& other : placed) {
      if (other.last < life.first || other.first > life.last) continue;
      const std::int64_t at = plan.offsets[static_cast<std::size_t>(other.id)];
      if (offset + life.size <= at) break;
      offset = std::max(offset, at + other.size);
    }
    plan.offsets[static_cast<std::size_t>(life.id)] = offset;
    plan.arena = std::max(plan.arena, checked_add(offset, life.size, "the arena"));
    const auto place =
        std::upper_bound(placed.begin(), placed.end(), offset, [&](std::int64_t value, const Life& other) {
          return value < plan.offsets[static_cast<std::size_t>(other.id)];
        });
    placed.insert(place, life);
    const auto [first, past_last] = std::pair(std::lower_bound(plan.regions.begin(), plan.regions.end(), life.first),
                                              std::upper_bound(plan.regions.begin(), plan.regions.end(), life.last));
    for (auto region = first; region != past_last; ++region) {
      plan.live[static_cast<std::size_t>(region - plan.regions.begin())] += life.size;
    }
  }
  return plan;
}

}  // namespace reckon
