// A tensor that is dead before its next iteration has one place, one that is handed on has two in turns, and those that
// are saved for backward lie in frames, one for each iteration, on top of each other.
#include "memory/plan.h"

#include "files/checked.h"
#include "lowering/regions.h"
#include "memory/layout.h"
#include "passes/expand.h"

#include <algorithm>
#include <map>

namespace reckon {
namespace {

bool in_arena(TensorKind kind) {
  return kind == TensorKind::activation || kind == TensorKind::input || kind == TensorKind::gradient;
}

// Of a repeat, at most this many places of a tensor are laid out one by one: those of the last iterations, whose frames
// are the highest.
constexpr std::int64_t most_places = 2;

class Planner {
 public:
  Planner(const Program& program, Plan& plan, const std::vector<bool>& outlives) : program_(program), plan_(plan) {
    std::vector<bool> held(program.tensors.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      const Tensor& tensor = program.tensors[i];
      held[i] = tensor.storage == no_tensor && in_arena(tensor.kind) && !outlives[i];
    }
    times_ = find_lifetimes(program, plan.regions, held, plan.alignment);
    plan.live = std::move(times_.live);
    plan.peak = times_.peak;
    plan.peak_op = times_.peak_op;
    plan.peak_step = times_.peak_step;
    plan.alive = std::move(times_.alive);
    plan.saved = times_.kept;
  }

  void run() {
    find_places();
    make_blocks();
    plan_.arena = lay_out(blocks_, stacks_, plan_.peak);
    for (const Placed& p : placed_) {
      const std::int64_t offset = blocks_[p.block].offset, count = program_.count(p.repeat);
      const std::int64_t stride = p.blocks > 1 ? blocks_[p.block + 1].offset - offset : 0;
      Slot& slot = plan_.slots[index(times_.lives[p.begin].id)];
      slot = p.saved ? Slot{offset - (count - p.blocks) * stride, stride, count} : Slot{offset, stride, p.blocks};
    }
  }

 private:
  using Life = Lifetimes::Life;
  // A tensor, by its lives.
  struct Placed {
    std::size_t begin, end;  // in times_.lives
    std::int32_t repeat;
    std::int64_t blocks = 1;
    bool saved = false;     // each iteration has a place of its own
    std::size_t block = 0;  // the first
  };

  std::int64_t shown(std::int32_t r) const { return r < 0 ? 1 : times_.shown[index(r)]; }

  // Whether iterations that share a place, when there are so many of them, would overlap.
  bool overlap(const Placed& p, std::int64_t places) const {
    for (std::size_t a = p.begin; a < p.end; ++a) {
      for (std::size_t b = a + 1; b < p.end; ++b) {
        const Life &x = times_.lives[a], &y = times_.lives[b];
        if ((y.iteration - x.iteration) % places == 0 && x.first <= y.last && y.first <= x.last) return true;
      }
    }
    return false;
  }

  void find_places() {
    const std::vector<Life>& lives = times_.lives;
    std::vector<bool> in_turns(program_.repeats.size());  // whether iterations of a forward repeat and its others are
    const auto root = [&](const Placed& p) { return index(program_.repeats[index(p.repeat)].root); };
    for (std::size_t i = 0; i < lives.size(); i = placed_.back().end) {
      Placed p{i, i, program_[lives[i].id].repeat};
      while (p.end < lives.size() && lives[p.end].id == lives[i].id) ++p.end;
      p.saved = times_.saved[index(lives[i].id)] || overlap(p, 2);
      if (!p.saved && overlap(p, 1)) in_turns[root(p)] = true;
      placed_.push_back(p);
    }
    // Where something takes turns, so does all the rest: one iteration's layout need not be that of the next.
    for (Placed& p : placed_) {
      if (p.repeat >= 0 && (p.saved || in_turns[root(p)])) p.blocks = std::min(most_places, shown(p.repeat));
    }
  }

  void make_blocks() {
    std::map<std::int32_t, Stack> stacks;  // by repeat
    for (Placed& p : placed_) {
      p.block = blocks_.size();
      const auto size = static_cast<std::int64_t>(bytes(program_[times_.lives[p.begin].id]));
      blocks_.resize(blocks_.size() + index(p.blocks), MemoryBlock{padded(size, plan_.alignment), {}, -1});
      if (p.saved) {
        Stack& stack = stacks[p.repeat];
        stack.below = program_.count(p.repeat) - p.blocks;
        stack.frames.resize(index(p.blocks));
        for (std::size_t i = 0; i < stack.frames.size(); ++i) stack.frames[i].push_back(p.block + i);
      }
      for (std::size_t i = p.begin; i < p.end; ++i) {
        const Life& life = times_.lives[i];
        const std::int64_t at = p.saved ? life.iteration - (shown(p.repeat) - p.blocks) : life.iteration % p.blocks;
        if (at >= 0) {
          blocks_[p.block + index(at)].spans.push_back({life.first, life.last});
        } else {
          stacks[p.repeat].alive.push_back({life.first, life.last});
        }
      }
    }
    for (auto& [repeat, stack] : stacks) stacks_.push_back(std::move(stack));
  }

  const Program& program_;
  Plan& plan_;
  Lifetimes times_;
  std::vector<Placed> placed_;
  std::vector<MemoryBlock> blocks_;
  std::vector<Stack> stacks_;
};

// Those of all iterations.
void add_bytes(std::int64_t& sum, const Program& program, const Tensor& tensor, std::string_view what) {
  const auto each = static_cast<std::int64_t>(bytes(tensor));
  sum = checked_add(sum, checked_multiply(each, program.count(tensor.repeat), what), what);
}

}  // namespace

std::int64_t parameter_bytes(const Program& program) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : program.tensors) {
    const bool counts = tensor.kind == TensorKind::parameter && tensor.storage == no_tensor;
    if (counts) add_bytes(sum, program, tensor, "the weights");
  }
  return sum;
}

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

Plan plan_memory(const Program& program, const Target& target, Places places) {
  Plan plan;
  plan.alignment = target.alignment;
  plan.slots.resize(program.tensors.size());
  plan.regions = parallel_regions(program);
  const std::vector<bool> outlives = parameter_gradients(program);
  plan.weights = parameter_bytes(program);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.storage != no_tensor) continue;
    if (outlives[i]) add_bytes(plan.gradients, program, tensor, "the gradients");
    if (tensor.kind == TensorKind::optimizer_state) add_bytes(plan.optimizer, program, tensor, "the optimizer's state");
    if (tensor.kind == TensorKind::cache) add_bytes(plan.cache, program, tensor, "the cache");
    if (tensor.kind == TensorKind::constant) add_bytes(plan.constants, program, tensor, "the constants");
  }
  Planner planner(program, plan, outlives);
  if (places == Places::all) {
    planner.run();
  } else {
    plan.arena = plan.peak;
  }
  return plan;
}

// Before its first micro-batch comes back, a rank has sent the next ones to all ranks behind it, and has one of its
// own; interleaved, it has gone twice as far, and through all its pieces but one for as many micro-batches as there are
// ranks.
std::int64_t micro_batches_in_flight(const Layout& layout) {
  const std::int64_t behind = layout.pipeline - layout.stage - 1, pieces = layout.virtual_stages;
  const std::int64_t most = pieces == 1 ? behind + 1 : 2 * behind + (pieces - 1) * layout.pipeline + 1;
  return std::min(layout.micro_batches * pieces, most);
}

std::int64_t arena_in_flight(const Plan& plan, const Layout& layout) {
  const std::int64_t pieces = layout.virtual_stages, others = micro_batches_in_flight(layout) - pieces;
  const std::int64_t kept = checked_multiply(plan.saved, others, "the arena");
  return checked_add(plan.arena, (kept + pieces - 1) / pieces, "the arena");
}

std::int64_t rank_bytes(const Plan& plan, const Layout& layout) {
  std::int64_t sum = arena_in_flight(plan, layout);
  for (const std::int64_t part : {plan.weights, plan.gradients, plan.optimizer, plan.constants, plan.cache})
    sum = checked_add(sum, part, "the memory of a rank");
  return sum;
}

Expanded expand_planned(const Program& program, const Plan& plan) {
  Origins origins;
  Expanded expanded{expand(program, &origins), {}, {}};
  for (const Origin& tensor : origins.tensors) {
    const Slot& slot = plan.slots[index(tensor.index)];
    expanded.offsets.push_back(slot.offset < 0 ? -1 : slot.at(tensor.iteration));
  }
  std::int64_t region = -1;
  Origin before{-1, -1};
  for (const Origin& op : origins.ops) {
    const bool same = before.index >= 0 && op.iteration == before.iteration &&
                      plan.regions[index(op.index)] == plan.regions[index(before.index)];
    expanded.regions.push_back(same ? region : ++region);
    before = op;
  }
  return expanded;
}

}  // namespace reckon
