// The operations as they are written, one after the other, in plain loops over their formulas: what every other backend
// is held against, and what a reader learns an operation from. Nothing is fused, nothing lies in another's memory, and
// no code is shared with the kernels of other backends.
#pragma once

#include "program/program.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

namespace reckon {

// The elements of each tensor by its id, row-major; whole numbers are held as doubles too.
using ReferenceValues = std::vector<std::vector<double>>;

// What changes from step to step of a training.
struct ReferenceStep {
  double loss_scale = 1;  // of gradients
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, decay = 0, clip = 0;
  std::int64_t step = 1;   // counted from 1
  bool drops = true;       // dropout; evaluation has none
  std::uint64_t seed = 0;  // of dropout
};

struct ReferenceOptions {
  bool float32 = false;  // every result is rounded to float32; loops still add up in float64
  ReferenceStep step = {};
  std::initializer_list<Stage> stages = {};                           // none: all
  std::function<void(const Op&, const ReferenceValues&)> after = {};  // called behind each op
};

// Runs an expanded program that has not been lowered. `values` holds parameters, inputs, constants and what caches held
// before, and receives the rest: a cache then holds what it held and the new tokens' as far as anything can see it.
void evaluate(const Program& program, ReferenceValues& values, const ReferenceOptions& options = {});

}  // namespace reckon
