// Tiles of products with weights in GGUF's blocks and activations in 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Panels of 16 columns (quantised-inl.h), `apart` bytes from each other: `count` units of codes, 64 bytes for every 4
// elements of K, then 16 scales and 16 offsets.
struct AmxPanel {
  std::uint8_t* units;
  std::int64_t apart, count;
};
// Rows of activations, `bytes` apart: integers, and the scale of every 32 of them; dx·Σ q of each unit, `sums_bytes`
// apart, where units have offsets.
struct AmxRows {
  const char *q, *scale, *sums;
  std::int64_t bytes, sums_bytes, rows;
};
constexpr std::int64_t amx_depth = 1024;  // elements of K, at most

// out (rows × 16·panels) += x·panel, for units of 16 or 32 elements; where the processor has AMX (instructions.h).
void amx_panels(int unit, bool has_offset, const AmxPanel& panel, int panels, const AmxRows& x, float* out,
                std::int64_t out_stride);
// Codes that stand for code + shift become that.
void make_signed(int unit, int shift, const AmxPanel& panel);

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
