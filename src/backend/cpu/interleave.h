// Rows of quantised weights by as many as a vector has lanes of 32 bits, so that it has the codes of that many rows,
// whose sums then stay in their lanes. Each row's block is cut into pieces, of scales one and of codes four bytes, and
// a piece of each of these rows lies side by side: piece by piece in the order of the block, or of their use (Q6_K).
// Where the rows are no multiple of that, the last ones are as they were. The bytes are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "files/encoding.h"

namespace reckon {

// With the kernels that are chosen on this processor: 8, or 16 with AVX-512.
std::int64_t rows_together();

// Whether there are kernels for it, on some processor.
constexpr bool can_be_interleaved(DType dtype) {
  return dtype == DType::q8_0 || dtype == DType::q4_0 || dtype == DType::mxfp4 || dtype == DType::q4_k ||
         dtype == DType::q6_k;
}

// Whether kernels of this processor are faster with it (bench/candidates.cpp). It is for matrices whose rows follow
// each other without gaps.
bool want_interleaved(DType dtype);

// rows_together() rows of k elements, which follow each other.
void interleave(DType dtype, const std::byte* rows, std::int64_t k, std::byte* to);

// Blocks [first, first + count) of one of those rows, as they were.
void restore_row(DType dtype, const std::byte* interleaved, std::int64_t row, std::int64_t first, std::int64_t count,
                 std::byte* to);

}  // namespace reckon
