// Tiles of products with weights in GGUF's blocks and activations in 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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

// The same tiles with instructions that Highway 1.0 does not know, AVX512-VNNI or AVX-VNNI, where the processor has
// them (quantised_vnni.cpp). Not for others.
bool have_vnni();
void few_vnni_tile(const Tile& tile, float* scratch);
void many_vnni_tile(const Tile& tile, float* scratch);

// Tests and benchmarks choose: "VNNI", or one of Highway's targets ("AVX2"), for all that it dispatches; empty: the
// best. Whether the processor and the build have it. Not while products run.
bool choose_instructions(std::string_view name);

}  // namespace reckon
