// The loops of vectors.h, compiled once per instruction set and chosen at run time.
#include "backend/cpu/vectors.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/vectors.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Calls body(i, count) for whole vectors, then once for the rest with count < lanes.
template <class Body>
HWY_INLINE void for_vectors(std::int64_t n, const Body& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, n - i);
}

HWY_INLINE V load(const float* x, std::int64_t count) {
  const D d;
  return count == static_cast<std::int64_t>(hn::Lanes(d))
             ? hn::LoadU(d, x)
             : hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, x);
}

HWY_INLINE void store(V v, float* x, std::int64_t count) {
  const D d;
  if (count == static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::StoreU(v, d, x);
  } else {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, x);
  }
}

HWY_INLINE float sum_lanes(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }

float Max(const float* x, std::int64_t n) {
  const D d;
  V most = hn::Set(d, -INFINITY);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
  float result = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

float Exp(float* x, std::int64_t n, float shift) {
  const D d;
  const V s = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    V e = hn::Exp(d, hn::Sub(load(x + i, count), s));
    e = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), e);
    sum = hn::Add(sum, e);
    store(e, x + i, count);
  });
  return sum_lanes(sum);
}

void Scale(float* x, std::int64_t n, float factor) {
  const V f = hn::Set(D(), factor);
  for_vectors(
      n, [&](std::int64_t i, std::int64_t count) HWY_ATTR { store(hn::Mul(load(x + i, count), f), x + i, count); });
}

void Add(const float* a, const float* b, float* y, std::int64_t n) {
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::Add(load(a + i, count), load(b + i, count)), y + i, count); });
}

void AddScaled(float* y, const float* x, std::int64_t n, float factor) {
  const V f = hn::Set(D(), factor);
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::MulAdd(load(x + i, count), f, load(y + i, count)), y + i, count); });
}

void Softcap(float* x, std::int64_t n, float factor, float cap) {
  const D d;
  const V in = hn::Set(d, factor / cap), out = hn::Set(d, cap);
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::Mul(hn::Tanh(d, hn::Mul(load(x + i, count), in)), out), x + i, count); });
}

// y = (x − mean)·factor·(w + offset) + b
HWY_INLINE void finish_norm(const NormRow& row, const float* x, float mean, float factor, float* y) {
  const D d;
  const V m = hn::Set(d, mean), f = hn::Set(d, factor), offset = hn::Set(d, row.offset);
  for_vectors(row.n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    V v = hn::Mul(hn::Sub(load(x + i, count), m), f);
    if (row.weight != nullptr) v = hn::Mul(v, hn::Add(load(row.weight + i, count), offset));
    if (row.bias != nullptr) v = hn::Add(v, load(row.bias + i, count));
    store(v, y + i, count);
  });
}

HWY_INLINE float squares(const float* x, std::int64_t n, float mean) {
  const D d;
  const V m = hn::Set(d, mean);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    V v = hn::Sub(load(x + i, count), m);
    v = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), v);
    sum = hn::MulAdd(v, v, sum);
  });
  return sum_lanes(sum);
}

NormStatistics RmsNorm(const NormRow& row, const float* x, float* y) {
  const float mean_square = squares(x, row.n, 0.0f) / static_cast<float>(row.n);
  const float factor = 1.0f / std::sqrt(mean_square + row.epsilon);
  finish_norm(row, x, 0.0f, factor, y);
  return {factor, 0.0f};
}

NormStatistics LayerNorm(const NormRow& row, const float* x, float* y) {
  const D d;
  V sum = hn::Zero(d);
  for_vectors(row.n, [&](std::int64_t i, std::int64_t count) HWY_ATTR { sum = hn::Add(sum, load(x + i, count)); });
  const float mean = sum_lanes(sum) / static_cast<float>(row.n);
  const float variance = squares(x, row.n, mean) / static_cast<float>(row.n);
  const float factor = 1.0f / std::sqrt(variance + row.epsilon);
  finish_norm(row, x, mean, factor, y);
  return {factor, mean};
}

void NormBackward(const NormRow& row, NormStatistics statistics, bool layer, const float* dy, const float* x,
                  const float* residual, float* dx) {
  const D d;
  const V mean = hn::Set(d, statistics.mean), factor = hn::Set(d, statistics.factor), offset = hn::Set(d, row.offset);
  const auto scaled = [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V v = load(dy + i, count);
    return row.weight == nullptr ? v : hn::Mul(v, hn::Add(load(row.weight + i, count), offset));
  };
  const auto normed = [&](std::int64_t i, std::int64_t count)
                          HWY_ATTR { return hn::Mul(hn::Sub(load(x + i, count), mean), factor); };
  V sum = hn::Zero(d), product = hn::Zero(d);  // what a masked load leaves out of dy is 0
  for_vectors(row.n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V v = scaled(i, count);
    sum = hn::Add(sum, v);
    product = hn::MulAdd(v, normed(i, count), product);
  });
  const auto n = static_cast<float>(row.n);
  const V mean_sum = hn::Set(d, layer ? sum_lanes(sum) / n : 0.0f), mean_product = hn::Set(d, sum_lanes(product) / n);
  for_vectors(row.n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    V v = hn::Sub(scaled(i, count), mean_sum);
    v = hn::Mul(hn::NegMulAdd(normed(i, count), mean_product, v), factor);
    if (residual != nullptr) v = hn::Add(v, load(residual + i, count));
    store(v, dx + i, count);
  });
}

void NormWeightBackward(NormStatistics statistics, const float* dy, const float* x, std::int64_t n, float* d_weight,
                        float* d_bias) {
  const D d;
  const V mean = hn::Set(d, statistics.mean), factor = hn::Set(d, statistics.factor);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V v = load(dy + i, count);
    if (d_weight != nullptr) {
      const V normed = hn::Mul(hn::Sub(load(x + i, count), mean), factor);
      store(hn::MulAdd(v, normed, load(d_weight + i, count)), d_weight + i, count);
    }
    if (d_bias != nullptr) store(hn::Add(load(d_bias + i, count), v), d_bias + i, count);
  });
}

float Dot(const float* a, const float* b, std::int64_t n) {
  V sum = hn::Zero(D());
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { sum = hn::MulAdd(load(a + i, count), load(b + i, count), sum); });
  return sum_lanes(sum);
}

float ExpSum(const float* x, std::int64_t n, float shift) {
  const D d;
  const V s = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V e = hn::Exp(d, hn::Sub(load(x + i, count), s));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), e));
  });
  return sum_lanes(sum);
}

void ExpScaled(const float* x, float* y, std::int64_t n, float shift, float factor) {
  const D d;
  const V s = hn::Set(d, shift), f = hn::Set(d, factor);
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::Mul(hn::Exp(d, hn::Sub(load(x + i, count), s)), f), y + i, count); });
}

void SoftcapBackward(const float* dy, const float* y, float* dx, std::int64_t n, float cap) {
  const D d;
  const V inverse = hn::Set(d, 1.0f / cap), one = hn::Set(d, 1.0f);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V t = hn::Mul(load(y + i, count), inverse);
    store(hn::Mul(load(dy + i, count), hn::NegMulAdd(t, t, one)), dx + i, count);
  });
}

void AttentionWeights(float* s, float* dp, const float* lse, const float* delta, std::int64_t n, float scale,
                      float cap) {
  const D d;
  const V factor = hn::Set(d, scale), one = hn::Set(d, 1.0f), inverse = hn::Set(d, cap != 0.0f ? 1.0f / cap : 0.0f);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V score = load(s + i, count);
    const V p = hn::Exp(d, hn::Sub(score, load(lse + i, count)));
    V ds = hn::Mul(hn::Mul(p, hn::Sub(load(dp + i, count), load(delta + i, count))), factor);
    if (cap != 0.0f) {
      const V t = hn::Mul(score, inverse);
      ds = hn::Mul(ds, hn::NegMulAdd(t, t, one));
    }
    store(p, s + i, count);
    store(ds, dp + i, count);
  });
}

void Rotate(const float* x, float* y, const float* cosines, const float* sines, std::int64_t half, bool interleaved,
            float direction) {
  if (interleaved) {
    for (std::int64_t j = 0; j < half; ++j) {
      const float a = x[2 * j], b = x[2 * j + 1];
      const float s = direction * sines[j];
      y[2 * j] = a * cosines[j] - b * s;
      y[2 * j + 1] = a * s + b * cosines[j];
    }
    return;
  }
  const V sign = hn::Set(D(), direction);
  for_vectors(half, [&](std::int64_t j, std::int64_t count) HWY_ATTR {
    const V a = load(x + j, count), b = load(x + half + j, count);
    const V c = load(cosines + j, count), s = hn::Mul(load(sines + j, count), sign);
    store(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), y + j, count);
    store(hn::Add(hn::Mul(a, s), hn::Mul(b, c)), y + half + j, count);
  });
}

void Scores(const float* const* q, int rows, const float* keys, std::int64_t key_stride, std::int64_t count,
            std::int64_t width, float* scores, std::int64_t scores_stride) {
  for (std::int64_t j = 0; j < count; ++j) {
    const float* key = keys + j * key_stride;
    for (int r = 0; r < rows; ++r) {
      V sum = hn::Zero(D());
      for_vectors(width, [&](std::int64_t i, std::int64_t n)
                             HWY_ATTR { sum = hn::MulAdd(load(q[r] + i, n), load(key + i, n), sum); });
      scores[r * scores_stride + j] = sum_lanes(sum);
    }
  }
}

void Mix(const float* weights, std::int64_t weights_stride, int rows, const float* values, std::int64_t value_stride,
         std::int64_t count, std::int64_t width, float* const* out) {
  for_vectors(width, [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    for (int r = 0; r < rows; ++r) {
      V sum = load(out[r] + i, n);
      const float* w = weights + r * weights_stride;
      for (std::int64_t j = 0; j < count; ++j) {
        sum = hn::MulAdd(hn::Set(D(), w[j]), load(values + j * value_stride + i, n), sum);
      }
      store(sum, out[r] + i, n);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(Max);
HWY_EXPORT(Exp);
HWY_EXPORT(Scale);
HWY_EXPORT(Add);
HWY_EXPORT(AddScaled);
HWY_EXPORT(Softcap);
HWY_EXPORT(RmsNorm);
HWY_EXPORT(LayerNorm);
HWY_EXPORT(Rotate);
HWY_EXPORT(Scores);
HWY_EXPORT(Mix);
HWY_EXPORT(NormBackward);
HWY_EXPORT(NormWeightBackward);
HWY_EXPORT(Dot);
HWY_EXPORT(ExpSum);
HWY_EXPORT(ExpScaled);
HWY_EXPORT(SoftcapBackward);
HWY_EXPORT(AttentionWeights);

float vector_max(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(Max)(x, n); }
float vector_exp(float* x, std::int64_t n, float shift) { return HWY_DYNAMIC_DISPATCH(Exp)(x, n, shift); }
void vector_scale(float* x, std::int64_t n, float factor) { HWY_DYNAMIC_DISPATCH(Scale)(x, n, factor); }
void vector_add(const float* a, const float* b, float* y, std::int64_t n) { HWY_DYNAMIC_DISPATCH(Add)(a, b, y, n); }
void vector_add_scaled(float* y, const float* x, std::int64_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(y, x, n, factor);
}
void vector_softcap(float* x, std::int64_t n, float factor, float cap) {
  HWY_DYNAMIC_DISPATCH(Softcap)(x, n, factor, cap);
}
NormStatistics vector_rms_norm(const NormRow& row, const float* x, float* y) {
  return HWY_DYNAMIC_DISPATCH(RmsNorm)(row, x, y);
}
NormStatistics vector_layer_norm(const NormRow& row, const float* x, float* y) {
  return HWY_DYNAMIC_DISPATCH(LayerNorm)(row, x, y);
}
void vector_norm_backward(const NormRow& row, NormStatistics statistics, bool layer, const float* dy, const float* x,
                          const float* residual, float* dx) {
  HWY_DYNAMIC_DISPATCH(NormBackward)(row, statistics, layer, dy, x, residual, dx);
}
void vector_norm_weight_backward(NormStatistics statistics, const float* dy, const float* x, std::int64_t n,
                                 float* d_weight, float* d_bias) {
  HWY_DYNAMIC_DISPATCH(NormWeightBackward)(statistics, dy, x, n, d_weight, d_bias);
}
float vector_dot(const float* a, const float* b, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(Dot)(a, b, n); }
float vector_exp_sum(const float* x, std::int64_t n, float shift) { return HWY_DYNAMIC_DISPATCH(ExpSum)(x, n, shift); }
void vector_exp_scaled(const float* x, float* y, std::int64_t n, float shift, float factor) {
  HWY_DYNAMIC_DISPATCH(ExpScaled)(x, y, n, shift, factor);
}
void vector_softcap_backward(const float* dy, const float* y, float* dx, std::int64_t n, float cap) {
  HWY_DYNAMIC_DISPATCH(SoftcapBackward)(dy, y, dx, n, cap);
}
void vector_attention_weights(float* s, float* dp, const float* lse, const float* d, std::int64_t n, float scale,
                              float cap) {
  HWY_DYNAMIC_DISPATCH(AttentionWeights)(s, dp, lse, d, n, scale, cap);
}
void vector_rotate(const float* x, float* y, const float* cosines, const float* sines, std::int64_t half,
                   bool interleaved, float direction) {
  HWY_DYNAMIC_DISPATCH(Rotate)(x, y, cosines, sines, half, interleaved, direction);
}
void vector_scores(const float* const* q, int rows, const float* keys, std::int64_t key_stride, std::int64_t count,
                   std::int64_t width, float* scores, std::int64_t scores_stride) {
  HWY_DYNAMIC_DISPATCH(Scores)(q, rows, keys, key_stride, count, width, scores, scores_stride);
}
void vector_mix(const float* weights, std::int64_t weights_stride, int rows, const float* values,
                std::int64_t value_stride, std::int64_t count, std::int64_t width, float* const* out) {
  HWY_DYNAMIC_DISPATCH(Mix)(weights, weights_stride, rows, values, value_stride, count, width, out);
}

}  // namespace reckon
#endif
