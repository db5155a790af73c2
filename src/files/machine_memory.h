// The memory of this machine: how much there is, and huge pages of it.
#pragma once

#include <reckon/count.h>

#include <cstddef>
#include <cstdint>
#include <string>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace reckon {

// In bytes: all of it, or what a control group (a container) leaves this process of it. Where the system does not say,
// more than anybody asks for.
std::int64_t machine_memory();
// …of which so many are not taken: what others hold is not there, files that are only cached are.
std::int64_t available_memory();

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
