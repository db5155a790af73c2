// Rows of numbers as GGUF's blocks. Scales are searched, not rounded: of many candidates the one whose values, as they
// will be decoded, are nearest in weighted squares.
#pragma once

#include <reckon/dtype.h>

#include <cstddef>
#include <cstdint>

namespace reckon {

// Whether encode_row() can write it: GGUF's blocks, and the floats of 16 and 32 bits.
bool can_encode(DType dtype);

// `elements` end with a block. `importance` says how much an error of each element counts, as the mean square of the
// activations that meet it; nullptr: all alike. The same bytes on every call. Throws Error at a number that float16
// would not hold, and where a block cannot be written.
void encode_row(DType dtype, const float* in, std::int64_t elements, const float* importance, std::byte* out);

}  // namespace reckon
