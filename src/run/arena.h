// Memory for a program's tensors: taken once, handed out at planned places, never beyond.
#pragma once

#include <reckon/error.h>

#include "files/checked.h"
#include "files/machine_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

namespace reckon {

class Arena {
 public:
  static constexpr std::size_t alignment = std::size_t{1} << 21;  // a huge page

  // Zeros. Fenced, for those who look on while kernels run: filled with a pattern that no kernel writes, as are a zone
  // before it and one behind.
  explicit Arena(std::int64_t size, bool fenced = false) : size_(size), zone_(fenced ? fence : 0) {
    const std::size_t words = (memory_size(size, "the size of an arena") + static_cast<std::size_t>(2 * zone_) + 3) / 4;
    memory_.reset(static_cast<std::byte*>(::operator new[](words * 4, std::align_val_t(alignment))));
    want_huge_pages(memory_.get(), words * 4);
    std::fill_n(reinterpret_cast<std::uint32_t*>(memory_.get()), words, fenced ? pattern : 0);
  }

  // The place at `offset`; remembers the furthest byte that was ever handed out.
  std::byte* take(std::int64_t offset, std::int64_t bytes) {
    if (offset < 0 || bytes < 0 || bytes > size_ - offset) {
      throw Error("a tensor lies outside its arena: " + std::to_string(offset) + " + " + std::to_string(bytes) +
                  " of " + std::to_string(size_) + " bytes");
    }
    high_water_ = std::max(high_water_, offset + bytes);
    return memory_.get() + zone_ + offset;
  }

  std::int64_t size() const { return size_; }
  std::int64_t high_water() const { return high_water_; }

  // Of a fenced one: how far [offset, offset + bytes) was written to, in elements of four bytes; and whether the zones
  // around it are as they were. No number that a kernel writes is the pattern, whose words are NaNs of their own kind.
  static constexpr std::int64_t fence = 4096;
  std::int64_t touched(std::int64_t offset, std::int64_t bytes) const {
    std::int64_t end = zone_ + offset + bytes;
    while (end > zone_ + offset && untouched(std::max(zone_ + offset, (end - 1) / 4 * 4), end)) end = (end - 1) / 4 * 4;
    return std::max<std::int64_t>(0, end - zone_ - offset);
  }
  std::int64_t touched() const { return touched(0, size_); }
  std::int64_t offset(const void* at) const { return static_cast<const std::byte*>(at) - memory_.get() - zone_; }
  bool fences_hold() const { return untouched(0, zone_) && untouched(zone_ + size_, size_ + 2 * zone_); }

 private:
  static constexpr std::uint32_t pattern = 0x7fa5a5a5;
  bool untouched(std::int64_t begin, std::int64_t end) const {
    const auto* expected = reinterpret_cast<const std::byte*>(&pattern);
    for (; begin < end; ++begin) {
      if (memory_[static_cast<std::size_t>(begin)] != expected[begin % 4]) return false;
    }
    return true;
  }

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t(alignment)); }
  };
  std::int64_t size_, zone_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::int64_t high_water_ = 0;
};

}  // namespace reckon
