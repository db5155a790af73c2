// Where every tensor lies: one arena for what lives only while the program runs, laid out by liveness, and the sizes
// of what outlives it (weights, cache, constants; in training, the gradients of parameters and the optimizer's state).
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

struct Plan {
  std::vector<std::int64_t> offsets;  // of each tensor in the arena, in bytes; -1: not there (views, other kinds)
  std::int64_t arena = 0;             // bytes
  std::int64_t cache = 0, weights = 0, constants = 0;
  std::int64_t gradients = 0, optimizer = 0;  // of parameters: summed over micro-steps, so they outlive a run
  std::vector<std::int64_t> regions;          // of each op: ops of one region run at the same time
  std::vector<std::int64_t> live;             // bytes in use while each op runs
};

Plan plan_memory(const Program& program);

// Whether `id`, a tensor with memory of its own, is the gradient of a parameter: what the optimizer reads.
std::vector<bool> parameter_gradients(const Program& program);

}  // namespace reckon
