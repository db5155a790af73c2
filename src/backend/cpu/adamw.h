// One pass of AdamW (Loshchilov and Hutter, arXiv 1711.05101) over contiguous memory.
#pragma once

#include <reckon/error.h>

#include "backend/cpu/launch.h"

#include <cstdint>
#include <string>

namespace reckon {

// m ← β₁m + (1−β₁)·clip·g,  v ← β₂v + (1−β₂)·(clip·g)²,  w ← shrink·w − rate·m / (root·√v + ε)
struct AdamStep {
  float clip, beta1, beta2, rate, root, epsilon, shrink;
};

// Adds to `squares` what the pass saw.
void adam_update(const AdamStep& step, float* w, const float* g, float* m, float* v, std::int64_t n, Squares& squares);

// Sums of so many pieces must fit the shared scratch.
inline void check_pieces(std::size_t room, std::int64_t pieces, std::size_t each) {
  if (static_cast<std::size_t>(pieces) * each > room) {
    throw Error("a parameter in " + std::to_string(pieces) + " pieces, expected at most " +
                std::to_string(room / each));
  }
}

}  // namespace reckon
