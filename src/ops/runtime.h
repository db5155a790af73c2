// Extents that depend on how many tokens are already in the cache: planned at capacity, counted at `past`.
#pragma once

#include "program/program.h"

#include <algorithm>
#include <utility>

namespace reckon {

// The keys held are past + new tokens, or all that the cache has room for.
inline Dim at_past(const Program& program, Dim dim) {
  if (dim.symbol != Symbol::keys) return dim;
  return {std::min(dim.size, program.workload.past + program.workload.tokens), Symbol::keys};
}

// An op's cost in a run with so many tokens in the cache.
inline Cost cost_at(const Program& program, const Op& op, std::int64_t past) {
  auto& now = const_cast<std::int64_t&>(program.workload.past);  // and back again: a copy of the program is large
  const std::int64_t planned = std::exchange(now, past);
  Cost cost = op.operation->cost(program, op);
  now = planned;
  return cost;
}

}  // namespace reckon
