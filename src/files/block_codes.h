// The small integers of GGUF's blocks, apart from the scales: what they stand for, and where their bits lie.
#pragma once

#include <reckon/dtype.h>

#include <array>
#include <cstdint>

namespace reckon {

// An element of code c stands for offset + scale · (low + c), or with a table for offset + scale · table[c].
struct Levels {
  int low = 0, high = 0;  // the least and the greatest
  const std::array<std::int8_t, 16>* table = nullptr;

  float value(int code) const {
    return static_cast<float>(table != nullptr ? (*table)[static_cast<std::size_t>(code)] : low + code);
  }
  int nearest(float value) const;  // the code of the nearest
};
Levels levels_of(DType dtype);

// Of each part of a block: of all, or of the sub-blocks of a K block.
struct BlockScales {
  int parts = 1;
  std::array<float, 16> scale{}, offset{};
};
BlockScales scales_of(DType dtype, const std::uint8_t* block);

// Writes the codes of all elements; the bytes of the scales stay.
void put_codes(DType dtype, const std::uint8_t* codes, std::uint8_t* block);

}  // namespace reckon
