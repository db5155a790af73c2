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

// The kernels of some encodings: a file each (quantised_group-inl.h). Those with VNNI are for processors that have it.
struct QuantisedKernels {
  void (*few)(const Tile&, float*);
  void (*many)(const Tile&, float*);
  void (*few_vnni)(const Tile&, float*);
  void (*many_vnni)(const Tile&, float*);
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
