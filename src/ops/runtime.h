// Extents that depend on how many tokens are already in the cache: planned at capacity, counted at `past`.
#pragma once

#include "program/program.h"

#include <algorithm>

namespace reckon {

// The keys held are past + new tokens, or all that the cache has room for.
inline Dim at_past(const Program& program, Dim dim) {
  if (dim.symbol != Symbol::keys) return dim;
  return {std::min(dim.size, program.workload.past + program.workload.tokens), Symbol::keys};
}

}  // namespace reckon
