// How much memory this machine has.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <limits>

namespace reckon {

// In bytes; where the system does not say, more than anybody asks for.
inline std::int64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::int64_t>::max();
  return std::int64_t{pages} * page;
}

}  // namespace reckon
