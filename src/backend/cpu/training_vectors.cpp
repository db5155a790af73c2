// The loops that training adds: gradients of norms, of softmax and of soft caps.
#include "backend/cpu/vectors.h"

#include <algorithm>

#include "backend/cpu/counters.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/training_vectors.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

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

// Four sums, so that none waits for the one before.
float Dot(const float* a, const float* b, std::int64_t n) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    HWY_UNROLL(4)
    for (int j = 0; j < 4; ++j)
      sums[j] = hn::MulAdd(hn::LoadU(d, a + i + j * lanes), hn::LoadU(d, b + i + j * lanes), sums[j]);
  }
  for_vectors(n - i, [&](std::int64_t j, std::int64_t count)
                         HWY_ATTR { sums[0] = hn::MulAdd(load(a + i + j, count), load(b + i + j, count), sums[0]); });
  return sum_lanes(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
}

float ExpSum(const float* x, std::int64_t n, float shift) {
  const D d;
  const Exponential<D> exp(d);
  const V s = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V e = exp(hn::Sub(load(x + i, count), s));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), e));
  });
  return sum_lanes(sum);
}

void ExpScaled(const float* x, float* y, std::int64_t n, float shift, float factor) {
  const D d;
  const Exponential<D> exp(d);
  const V s = hn::Set(d, shift), f = hn::Set(d, factor);
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::Mul(exp(hn::Sub(load(x + i, count), s)), f), y + i, count); });
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
  const Exponential<D> exp(d);
  const V factor = hn::Set(d, scale), one = hn::Set(d, 1.0f), inverse = hn::Set(d, cap != 0.0f ? 1.0f / cap : 0.0f);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V score = load(s + i, count);
    const V p = exp(hn::Sub(score, load(lse + i, count)));
    V ds = hn::Mul(hn::Mul(p, hn::Sub(load(dp + i, count), load(delta + i, count))), factor);
    if (cap != 0.0f) {
      const V t = hn::Mul(score, inverse);
      ds = hn::Mul(ds, hn::NegMulAdd(t, t, one));
    }
    store(p, s + i, count);
    store(ds, dp + i, count);
  });
}

void BlockAttentionWeights(float* s, float* dp, std::int64_t keys, std::int64_t queries, std::int64_t hidden,
                           const float* lse, const float* delta, float scale) {
  const D d;
  const Exponential<D> exp(d);
  const V factor = hn::Set(d, scale);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < keys; ++j, s += queries, dp += queries) {
    const std::int64_t from = hidden + j;
    for_vectors(queries, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      V p = hn::Zero(d), ds = hn::Zero(d);
      if (i + count > from) {
        p = exp(hn::MulSub(load(s + i, count), factor, load(lse + i, count)));
        ds = hn::Mul(hn::Mul(p, hn::Sub(load(dp + i, count), load(delta + i, count))), factor);
        if (i < from) {
          const auto unseen = hn::FirstN(d, static_cast<std::size_t>(std::min(from - i, lanes)));
          p = hn::IfThenZeroElse(unseen, p);
          ds = hn::IfThenZeroElse(unseen, ds);
        }
      }
      store(p, s + i, count);
      store(ds, dp + i, count);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(NormBackward);
HWY_EXPORT(NormWeightBackward);
HWY_EXPORT(Dot);
HWY_EXPORT(ExpSum);
HWY_EXPORT(ExpScaled);
HWY_EXPORT(SoftcapBackward);
HWY_EXPORT(AttentionWeights);
HWY_EXPORT(BlockAttentionWeights);

void vector_norm_backward(const NormRow& row, NormStatistics statistics, bool layer, const float* dy, const float* x,
                          const float* residual, float* dx) {
  count_elementwise(row.n * ((layer ? 9 : 6) + (row.weight != nullptr ? 1 : 0) + (residual != nullptr ? 1 : 0)));
  HWY_DYNAMIC_DISPATCH(NormBackward)(row, statistics, layer, dy, x, residual, dx);
}
void vector_norm_weight_backward(NormStatistics statistics, const float* dy, const float* x, std::int64_t n,
                                 float* d_weight, float* d_bias) {
  count_elementwise(n * ((d_weight != nullptr ? 2 : 0) + (d_bias != nullptr ? 1 : 0)));
  HWY_DYNAMIC_DISPATCH(NormWeightBackward)(statistics, dy, x, n, d_weight, d_bias);
}
float vector_dot(const float* a, const float* b, std::int64_t n) {
  count_elementwise(2 * n - 1);
  return HWY_DYNAMIC_DISPATCH(Dot)(a, b, n);
}
float vector_exp_sum(const float* x, std::int64_t n, float shift) {
  count_elementwise(3 * n - 1);
  return HWY_DYNAMIC_DISPATCH(ExpSum)(x, n, shift);
}
void vector_exp_scaled(const float* x, float* y, std::int64_t n, float shift, float factor) {
  count_elementwise(3 * n);
  HWY_DYNAMIC_DISPATCH(ExpScaled)(x, y, n, shift, factor);
}
void vector_softcap_backward(const float* dy, const float* y, float* dx, std::int64_t n, float cap) {
  count_elementwise(4 * n);
  HWY_DYNAMIC_DISPATCH(SoftcapBackward)(dy, y, dx, n, cap);
}
void vector_attention_weights(float* s, float* dp, const float* lse, const float* d, std::int64_t n, float scale,
                              float cap) {
  count_elementwise(n * (4 + (scale != 1.0f ? 1 : 0) + (cap != 0.0f ? 4 : 0)));
  HWY_DYNAMIC_DISPATCH(AttentionWeights)(s, dp, lse, d, n, scale, cap);
}
void block_attention_weights(float* s, float* dp, std::int64_t keys, std::int64_t queries, std::int64_t hidden,
                             const float* lse, const float* d, float scale) {
  for (std::int64_t j = 0; j < keys; ++j)
    count_elementwise((queries - std::clamp<std::int64_t>(hidden + j, 0, queries)) * (scale != 1.0f ? 6 : 4));
  HWY_DYNAMIC_DISPATCH(BlockAttentionWeights)(s, dp, keys, queries, hidden, lse, d, scale);
}

}  // namespace reckon
#endif
