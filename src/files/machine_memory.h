// The memory of this machine: how much there is, and huge pages of it.
#pragma once

#include <reckon/count.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace reckon {

// In bytes; where the system does not say, more than anybody asks for.
inline std::int64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::int64_t>::max();
  return std::int64_t{pages} * page;
}

// An Error where `what` ("the weights of gpt2") take more bytes than are left; 0: than this machine has.
void check_memory(const std::string& what, Count bytes, std::int64_t left = 0);

// Asks for huge pages, which need fewer steps through the page tables; without them nothing else changes. `begin` is
// aligned to a page.
inline void want_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= (std::size_t{1} << 21)) ::madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace reckon
