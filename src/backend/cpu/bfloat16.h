// Products of many rows with weights in bfloat16 by instructions for such: AMX or AVX512-BF16 (instructions.h).
#pragma once

#include <cstdint>

#include "backend/cpu/tile.h"

namespace reckon {

// Both multiply bfloat16 with bfloat16 and add in float32. AMX is so much faster than float32 that x is taken apart
// into three numbers of 8 bits, whose sum it is: nothing is rounded that float32 would not round. AVX512-BF16 is twice
// as fast at most, so that x is rounded to bfloat16, as PyTorch and llama.cpp do. For processors that have it.
void bfloat16_tile(const Tile& tile, float* scratch);

// Whether products of so many rows with such weights can be made so; whether this one is (dense.cpp).
bool bfloat16_wanted(DType dtype, std::int64_t rows);
bool native_bfloat16(const Product& product);
// Whether x, or both sides, are rounded in products of so many rows with such weights: by AVX512-BF16, and by AMX where
// the weights are quantised.
bool rounds_to_bfloat16(DType dtype, std::int64_t rows);

}  // namespace reckon
