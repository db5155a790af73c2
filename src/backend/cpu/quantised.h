// Tiles of products with weights in GGUF's blocks and activations in 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cpu/tile.h"

namespace reckon {

// For few rows: reads each block once. The order of each element's sum depends on k, the encoding and whether it is
// interleaved. `scratch` has room for as many floats as packed weights have (tile.h).
void few_quantised_rows_tile(const Tile& tile, float* scratch);

// For many rows: unpacks the blocks of some columns at a time to integers, which all rows then meet.
void many_quantised_rows_tile(const Tile& tile, float* scratch);

// x in activation8: k integers q, then the float32 scale dx of every 32 of them, then the float32 dx·Σ q of every 32,
// then the int16 Σ q of every 16.
void quantise_row(const float* x, std::int64_t k, std::byte* to);

// The values dx·q that such a row stands for.
inline void values_of_quantised_row(const std::byte* row, std::int64_t k, double* to) {
  for (std::int64_t i = 0; i < k; ++i) {
    float scale = 0;
    std::memcpy(&scale, row + k + i / 32 * 4, sizeof scale);
    to[i] = static_cast<double>(scale) * static_cast<std::int8_t>(row[i]);
  }
}

// --- Many rows where the processor has AMX (instructions.h): activations and weights are rounded to bfloat16, 2⁻⁹ of
// each at most, of which AMX sums products in float32. Its products of bytes would be exact, but their sums have to
// leave its registers for the scales of every 32 elements, which takes longer.

// Elements of `rows` packed rows of k elements: whole blocks of 16 rows, of which each 32 elements lie together.
std::int64_t amx_packed(std::int64_t rows, std::int64_t k);
// Block `block` of these rows in activation8.
void amx_pack_rows(const std::byte* x8, std::int64_t rows, std::int64_t k, std::int64_t block, std::uint16_t* packed);

// Panels of 16 columns (quantised-inl.h), `apart` bytes from each other: `count` units of codes, 64 bytes for every 4
// elements of K, then 16 scales and 16 offsets. Codes stand for code + shift.
struct AmxPanels {
  const std::uint8_t* units;
  std::int64_t apart, count;
  int unit, shift;
  bool has_offset;
};
constexpr std::int64_t amx_panels = 3, amx_depth = 1024;  // panels, and elements of K, at most
constexpr std::int64_t amx_unpacked = amx_panels * 16 * amx_depth;
// out (rows × 48) += x·panels, where x is where the panels' part of K begins in packed rows of `x_k` elements.
// `unpacked` has room for amx_unpacked elements.
void amx_multiply(const AmxPanels& panels, const std::uint16_t* x, std::int64_t x_k, std::int64_t rows, float* out,
                  std::int64_t out_stride, std::uint16_t* unpacked);

// The kernels of some encodings: a file each (quantised_group-inl.h). Those with dots are for processors that multiply
// bytes and add them by fours (instructions.h).
struct QuantisedKernels {
  void (*few)(const Tile&, float*);
  void (*many)(const Tile&, float*);
  void (*few_dots)(const Tile&, float*);
  void (*many_dots)(const Tile&, float*);
};
namespace q4 {
extern const QuantisedKernels kernels;
}
namespace q5_q8_iq4 {
extern const QuantisedKernels kernels;
}
namespace q2_k_q3_k {
extern const QuantisedKernels kernels;
}
namespace q4_k_to_q6_k {
extern const QuantisedKernels kernels;
}

}  // namespace reckon
