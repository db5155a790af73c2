// Asking the system for huge pages: fewer steps through its tables when much memory is walked over.
#pragma once

#include <cstddef>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace reckon {

// `begin` is aligned to a page. Where the system knows no such wish, nothing happens.
inline void want_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= (std::size_t{1} << 21)) ::madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace reckon
