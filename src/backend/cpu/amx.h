// How AMX's eight registers are used, as its instruction that sets them up reads it: each has up to 16 rows of up to 64
// bytes. To be a constant: to g++ 12 that instruction reads but the first 8 bytes, and it drops what is stored to
// others.
#pragma once

#include <cstdint>

namespace reckon {

struct alignas(64) AmxShapes {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace reckon
