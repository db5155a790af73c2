// Rows of quantised weights 8 by 8, so that a vector has the codes of 8 rows, whose sums then stay in their lanes. Each
// row's block is cut into pieces, of scales one and of codes four bytes, and a piece of each of the 8 rows lies side by
// side: piece by piece in the order of the block, or of their use (Q6_K). Where 8 does not divide the rows, the last
// ones are as they were. The bytes are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "files/encoding.h"

namespace reckon {

constexpr std::int64_t rows_together = 8;

// Whether there are kernels for it, on some processor.
constexpr bool can_be_interleaved(DType dtype) {
  return dtype == DType::q8_0 || dtype == DType::q4_0 || dtype == DType::mxfp4 || dtype == DType::q4_k ||
         dtype == DType::q6_k;
}

// Whether kernels of this processor are faster with it (bench/candidates.cpp). It is for matrices whose rows follow
// each other without gaps.
bool want_interleaved(DType dtype);

// 8 rows of k elements, which follow each other.
void interleave(DType dtype, const std::byte* rows, std::int64_t k, std::byte* to);

// Blocks [first, first + count) of a row, 0 to 7, as they were.
void restore_row(DType dtype, const std::byte* interleaved, std::int64_t row, std::int64_t first, std::int64_t count,
                 std::byte* to);

}  // namespace reckon
