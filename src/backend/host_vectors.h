// Loops over contiguous floats on the host, in SIMD, for kernels and for those who draw from logits. Each counts the
// operations of its formula (docs/counting.md).
#pragma once

#include <cstdint>

namespace reckon {

float vector_max(const float* x, std::int64_t n);
// x ← e^(x − shift); returns the sum
float vector_exp(float* x, std::int64_t n, float shift);
void vector_scale(float* x, std::int64_t n, float factor);
inline void vector_softmax(float* x, std::int64_t n) { vector_scale(x, n, 1.0f / vector_exp(x, n, vector_max(x, n))); }

}  // namespace reckon
