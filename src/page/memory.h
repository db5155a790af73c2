// The memory that the page's engine has: of a WebAssembly module what it was started with, elsewhere the machine's.
#pragma once

#include <cstdint>

namespace reckon::page {

std::int64_t memory_bytes();
std::int64_t memory_used();  // by what was allocated; 0 where nobody says

// What may still be taken, at least 1.
inline std::int64_t memory_left() {
  const std::int64_t left = memory_bytes() - memory_used();
  return left > 1 ? left : 1;
}

}  // namespace reckon::page
