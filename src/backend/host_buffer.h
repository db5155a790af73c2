// Memory of backends that run on the host: taken once, handed out at planned places, never beyond.
#pragma once

#include <reckon/error.h>

#include "backend/backend.h"
#include "files/checked.h"
#include "files/machine_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

namespace reckon {

class HostBuffer : public Buffer {
 public:
  static constexpr std::size_t alignment = std::size_t{1} << 21;  // a huge page
  static constexpr std::int64_t fence = 4096;                     // bytes of a zone

  // Each byte of the program is `scale` of the host's. Fenced: a zone before it and one behind have a pattern that no
  // kernel writes.
  explicit HostBuffer(std::int64_t bytes, Fill fill = Fill::zeros, bool fenced = false, std::int64_t scale = 1)
      : bytes_(bytes), scale_(scale), zone_(fenced ? fence : 0) {
    const std::int64_t size = checked_multiply(bytes, scale, "the size of a buffer");
    const std::size_t words = (memory_size(size, "the size of a buffer") + static_cast<std::size_t>(2 * zone_) + 3) / 4;
    memory_.reset(static_cast<std::byte*>(::operator new[](words * 4, std::align_val_t(alignment))));
    want_huge_pages(memory_.get(), words * 4);
    auto* first = reinterpret_cast<std::uint32_t*>(memory_.get());
    if (fill != Fill::nothing) std::fill_n(first, words, fenced ? pattern : 0);
    if (fenced && fill == Fill::zeros) std::fill_n(memory_.get() + zone_, size, std::byte{0});
  }

  // The place at `offset`, which must have room for so many bytes.
  std::byte* at(std::int64_t offset, std::int64_t bytes) const {
    if (offset < 0 || bytes < 0 || bytes > bytes_ - offset) {
      throw Error("a tensor lies outside its arena: " + std::to_string(offset) + " + " + std::to_string(bytes) +
                  " of " + std::to_string(bytes_) + " bytes");
    }
    return memory_.get() + zone_ + offset * scale_;
  }
  // The same for a tensor.
  std::byte* take(std::int64_t offset, std::int64_t bytes) {
    std::byte* place = at(offset, bytes);
    high_water_ = std::max(high_water_, offset + bytes);
    return place;
  }

  std::int64_t bytes() const override { return bytes_; }
  std::int64_t scale() const { return scale_; }
  std::int64_t high_water() const override { return high_water_; }

  // To whole elements. No number that a kernel writes is the pattern, whose words are NaNs of their own kind.
  std::int64_t touched(std::int64_t offset, std::int64_t bytes) const override {
    const std::int64_t unit = 4 * scale_, begin = zone_ + offset * scale_;
    std::int64_t end = begin + bytes * scale_;
    while (end > begin && untouched(std::max(begin, (end - 1) / unit * unit), end)) end = (end - 1) / unit * unit;
    return (std::max(begin, end) - begin) / scale_;
  }
  bool fences_hold() const override {
    return untouched(0, zone_) && untouched(zone_ + bytes_ * scale_, bytes_ * scale_ + 2 * zone_);
  }

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
  std::int64_t bytes_, scale_, zone_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::int64_t high_water_ = 0;
};

// Of an address in such a buffer, which must have room for so many bytes of the program.
inline std::byte* host_memory(const Address& place, std::int64_t bytes) {
  return static_cast<const HostBuffer&>(*place.buffer).at(place.offset, bytes);
}

}  // namespace reckon
