// How many (query, key) pairs of a head are counted: all of them, or those that causality and the window let through.
#pragma once

#include "program/program.h"

namespace reckon {

// The keys that a query sees.
struct AttentionMask {
  bool causal = true;       // none behind itself
  std::int64_t window = 0;  // the last so many; 0: all
  bool operator==(const AttentionMask&) const = default;
};

// Multiplies `product` by the pairs of scores (B × H × T × S) as the workload counts them.
Formula times_pairs(Term product, const Program& program, const AttentionMask& mask, const Shape& scores);

// Σ over queries i = 1…T of min(S − T + i, window).
Count visible_pairs(std::int64_t tokens, std::int64_t keys, std::int64_t window);

}  // namespace reckon
