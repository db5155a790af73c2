// Loops over contiguous floats, in SIMD for every instruction set (Highway): what the element-wise kernels are made of.
// Each counts the operations of its formula (docs/counting.md); a factor that it is given is made once and not counted.
#pragma once

#include "backend/host_vectors.h"

#include <cstdint>

namespace reckon {

void vector_add(const float* a, const float* b, float* y, std::int64_t n);
// sum ← sum + part, where both are of one product's sum: those additions are among its 2·m·n·k
void vector_add_part(float* sum, const float* part, std::int64_t n);
// x ← factor·x, where a product that was made piece by piece is brought to its other pieces' measure: not counted
void vector_rescale(float* x, std::int64_t n, float factor);
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
// What the backward pass needs of a row: y = (x − mean)·factor·w + b.
struct NormStatistics {
  float factor, mean;
};
NormStatistics vector_rms_norm(const NormRow& row, const float* x, float* y);
NormStatistics vector_layer_norm(const NormRow& row, const float* x, float* y);
// dx = factor·(ŷ − mean(ŷ) − x̂·mean(ŷ·x̂)), with ŷ = dy·w; without mean(ŷ) for an RMSNorm. `residual` may be null or dx.
void vector_norm_backward(const NormRow& row, NormStatistics statistics, bool layer, const float* dy, const float* x,
                          const float* residual, float* dx);
// d_weight += dy·x̂, d_bias += dy; either may be null
void vector_norm_weight_backward(NormStatistics statistics, const float* dy, const float* x, std::int64_t n,
                                 float* d_weight, float* d_bias);

float vector_dot(const float* a, const float* b, std::int64_t n);
// Σ e^(x − shift)
float vector_exp_sum(const float* x, std::int64_t n, float shift);
// y = factor·e^(x − shift); y may be x
void vector_exp_scaled(const float* x, float* y, std::int64_t n, float shift, float factor);
// dx = dy·(1 − (y / cap)²), the gradient of a softcap from its result
void vector_softcap_backward(const float* dy, const float* y, float* dx, std::int64_t n, float cap);
// Of a block of attention, for one key and `n` queries: p = e^(s − lse), s ← p, dp ← p·(dp − d)·scale.
// With a cap, s is the capped score, and (1 − (s / cap)²) is a factor of dp.
void vector_attention_weights(float* s, float* dp, const float* lse, const float* d, std::int64_t n, float scale,
                              float cap);
// The same for all keys of a block, whose rows follow each other: p = e^(scale·s − lse). Key j is seen by the queries
// from hidden + j on; the others have 0.
void block_attention_weights(float* s, float* dp, std::int64_t keys, std::int64_t queries, std::int64_t hidden,
                             const float* lse, const float* d, float scale);

// Rotates the pairs of a head: (j, j + half), or (2j, 2j + 1) where interleaved. cosines and sines are `half` long.
// Direction 1 is forward, −1 back.
struct Rotation {
  const float *cosines, *sines;
  std::int64_t half;
  bool interleaved;
  float direction;
};
// So many heads of one token; y may be x.
void rotate_heads(const Rotation& rotation, const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
                  std::int64_t heads);

// Columns of a matrix whose rows follow each other:
//   s ← factor·s, most[c] ← max(most[c], column c)
void columns_max(float* s, std::int64_t rows, std::int64_t columns, float factor, float* most);
//   s ← e^(s − shift[c]), 0 where both are −∞; sum[c] ← sum[c] + column c
void columns_exp(float* s, std::int64_t rows, std::int64_t columns, const float* shift, float* sum);

}  // namespace reckon
