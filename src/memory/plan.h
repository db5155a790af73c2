// Where every tensor of a folded program lies: one arena for what lives only while it runs, laid out by liveness, and
// the sizes of what outlives it (weights, cache, constants; in training, the gradients of parameters and the
// optimizer's state).
#pragma once

#include "lowering/target.h"
#include "memory/lifetimes.h"
#include "program/program.h"

#include <vector>

namespace reckon {

// The place of a tensor in iteration k. Period 1: all iterations use one place; 2: they take turns, where one hands
// its result to the next; as many as there are: each keeps its own for the backward pass.
struct Slot {
  std::int64_t offset = -1;  // bytes; -1: not in the arena (views, other kinds)
  std::int64_t stride = 0, period = 1;
  std::int64_t at(std::int64_t k) const { return offset + stride * (k % period); }
};

struct Plan {
  std::vector<Slot> slots;     // of each tensor
  std::int64_t alignment = 1;  // of each tensor in the arena, in bytes
  std::int64_t arena = 0;      // bytes
  std::int64_t peak = 0;       // the most that is ever alive
  // …first in this op, in this of its iterations in the order in which they run; and how many instances of each tensor
  // are alive then.
  std::size_t peak_op = 0;
  std::int64_t peak_step = 0;
  std::vector<std::int64_t> alive;
  std::int64_t saved = 0;  // of the arena, what is alive between the forward and the backward stage
  std::int64_t cache = 0, weights = 0, constants = 0;
  std::int64_t gradients = 0, optimizer = 0;  // of parameters: summed over micro-steps, so they outlive a run
  std::vector<std::int64_t> regions;          // of each op: ops of one region run at the same time
  std::vector<Live> live;                     // bytes in use while each op runs
};

// Whether tensors get their places. Without, the arena is the peak, which it nearly always is, and planning takes a
// fraction of the time.
enum class Places : std::uint8_t { all, none };

Plan plan_memory(const Program& program, const Target& target, Places places = Places::all);

// Micro-batches that the rank of layout.stage has gone through forward, but not yet back, when there are most of them
// (1F1B); where a rank has several pieces of the stack, pieces of micro-batches (interleaved: Megatron's schedule,
// Korthikanti et al. 2022, section 4.2.3).
std::int64_t micro_batches_in_flight(const Layout& layout);
// The arena of a rank with all of them: the plan is that of one micro-batch through all of the rank's pieces.
std::int64_t arena_in_flight(const Plan& plan, const Layout& layout);
// All that a rank needs: that, weights, gradients, the optimizer's state, constants and cache.
std::int64_t rank_bytes(const Plan& plan, const Layout& layout);

// A planned program with every iteration written out, to be bound to memory.
struct Expanded {
  Program program;
  std::vector<std::int64_t> offsets;  // of each tensor in the arena, in bytes; -1: not there
  std::vector<std::int64_t> regions;  // of each op
};

Expanded expand_planned(const Program& program, const Plan& plan);

std::int64_t parameter_bytes(const Program& program);

// Whether `id`, a tensor with memory of its own, is the gradient of a parameter: what the optimizer reads.
std::vector<bool> parameter_gradients(const Program& program);

}  // namespace reckon
