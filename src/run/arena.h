// Memory for a program's tensors: taken once, handed out at planned places, never beyond.
#pragma once

#include <reckon/error.h>

#include "files/checked.h"
#include "files/huge_pages.h"

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

  explicit Arena(std::int64_t size)
      : memory_(static_cast<std::byte*>(
            ::operator new[](memory_size(size, "the size of an arena"), std::align_val_t(alignment)))),
        size_(size) {
    want_huge_pages(memory_.get(), static_cast<std::size_t>(size));
    std::fill_n(memory_.get(), size, std::byte{0});
  }

  // The place at `offset`; remembers the furthest byte that was ever handed out.
  std::byte* take(std::int64_t offset, std::int64_t bytes) {
    if (offset < 0 || bytes < 0 || bytes > size_ - offset) {
      throw Error("a tensor lies outside its arena: " + std::to_string(offset) + " + " + std::to_string(bytes) +
                  " of " + std::to_string(size_) + " bytes");
    }
    high_water_ = std::max(high_water_, offset + bytes);
    return memory_.get() + offset;
  }

  std::int64_t size() const { return size_; }
  std::int64_t high_water() const { return high_water_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t(alignment)); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::int64_t size_;
  std::int64_t high_water_ = 0;
};

}  // namespace reckon
