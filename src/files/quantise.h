// Rows of numbers as GGUF's blocks. Scales are searched, not rounded: of many candidates the one whose values, as they
// will be decoded, are nearest in weighted squares.
#pragma once

#include <reckon/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace reckon {

// Whether encode_row() can write it: GGUF's blocks, and the floats of 16 and 32 bits.
bool can_encode(DType dtype);

// The encoding itself where its blocks divide the rows; else the smallest that has no less bits and does, as
// llama.cpp's quantiser chooses.
DType fitting(DType wanted, std::int64_t columns);

// `elements` end with a block. `importance` says how much an error of each element counts, as the mean square of the
// activations that meet it; nullptr: all alike. The same bytes on every call. Throws Error at a number that the
// encoding does not hold (floats keep NaN and infinities, no block has them), and where a block cannot be written.
void encode_row(DType dtype, const float* in, std::int64_t elements, const float* importance, std::byte* out);

// Rows whose columns are correlated: what a column loses is made good by those behind it (GPTQ, Frantar et al. 2022,
// arXiv 2210.17323). `factor` is the upper triangular U, columns × columns, with UᵀU the inverse of the mean of x·xᵀ
// over the activations x that meet the rows. The rows are overwritten. Of GGUF's blocks only.
void encode_rows(DType dtype, float* rows, std::int64_t count, std::int64_t columns, std::span<const float> factor,
                 std::byte* out);

}  // namespace reckon
