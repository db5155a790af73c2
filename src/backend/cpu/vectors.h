// Loops over contiguous floats, in SIMD for every instruction set (Highway): what the element-wise kernels are made of.
#pragma once

#include <cstdint>

namespace reckon {

float vector_max(const float* x, std::int64_t n);
// x ← e^(x − shift); returns the sum
float vector_exp(float* x, std::int64_t n, float shift);
void vector_scale(float* x, std::int64_t n, float factor);
void vector_add(const float* a, const float* b, float* y, std::int64_t n);
// y ← y + factor·x
void vector_add_scaled(float* y, const float* x, std::int64_t n, float factor);
// x ← cap·tanh(factor·x / cap)
void vector_softcap(float* x, std::int64_t n, float factor, float cap);

// One row of a norm; weight and bias may be null. `offset` is added to the weight (Gemma: 1).
struct NormRow {
  std::int64_t n;
  float epsilon;
  const float* weight;
  const float* bias;
  float offset;
};
void vector_rms_norm(const NormRow& row, const float* x, float* y);
void vector_layer_norm(const NormRow& row, const float* x, float* y);

// Rotates the pairs of x: (j, j + half), or (2j, 2j + 1) where interleaved. cosines and sines are `half` long.
void vector_rotate(const float* x, float* y, const float* cosines, const float* sines, std::int64_t half,
                   bool interleaved);

// Few queries against many keys, a key being read once for all of them:
//   scores[r·scores_stride + j] = q[r]·key j
//   out[r] += Σ_j weights[r·weights_stride + j] · value j
void vector_scores(const float* const* q, int rows, const float* keys, std::int64_t key_stride, std::int64_t count,
                   std::int64_t width, float* scores, std::int64_t scores_stride);
void vector_mix(const float* weights, std::int64_t weights_stride, int rows, const float* values,
                std::int64_t value_stride, std::int64_t count, std::int64_t width, float* const* out);

}  // namespace reckon
