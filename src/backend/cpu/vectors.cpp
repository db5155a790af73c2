// The loops of vectors.h, compiled once per instruction set and chosen at run time.
#include "backend/cpu/vectors.h"

#include <cmath>

#include "backend/cpu/counters.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/vectors.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

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
  const Exponential<D> exp(d);
  const V s = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    V e = exp(hn::Sub(load(x + i, count), s));
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

void Rotate(const Rotation& r, const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
            std::int64_t heads) {
  if (r.interleaved) {
    for (std::int64_t h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
      for (std::int64_t j = 0; j < r.half; ++j) {
        const float a = x[2 * j], b = x[2 * j + 1];
        const float s = r.direction * r.sines[j];
        y[2 * j] = a * r.cosines[j] - b * s;
        y[2 * j + 1] = a * s + b * r.cosines[j];
      }
    }
    return;
  }
  const V sign = hn::Set(D(), r.direction);
  for_vectors(r.half, [&](std::int64_t j, std::int64_t count) HWY_ATTR {
    const V c = load(r.cosines + j, count), s = hn::Mul(load(r.sines + j, count), sign);
    const float* from = x + j;
    float* to = y + j;
    for (std::int64_t h = 0; h < heads; ++h, from += x_stride, to += y_stride) {
      const V a = load(from, count), b = load(from + r.half, count);
      store(hn::MulSub(a, c, hn::Mul(b, s)), to, count);
      store(hn::MulAdd(a, s, hn::Mul(b, c)), to + r.half, count);
    }
  });
}

void ColumnsMax(float* s, std::int64_t rows, std::int64_t columns, float factor, float* most) {
  const V f = hn::Set(D(), factor);
  for_vectors(columns, [&](std::int64_t c, std::int64_t count) HWY_ATTR {
    V m = load(most + c, count);
    for (float* at = s + c; at < s + rows * columns; at += columns) {
      const V v = hn::Mul(load(at, count), f);
      m = hn::Max(m, v);
      store(v, at, count);
    }
    store(m, most + c, count);
  });
}

void ColumnsExp(float* s, std::int64_t rows, std::int64_t columns, const float* shift, float* sum) {
  const Exponential<D> exp{D()};
  for_vectors(columns, [&](std::int64_t c, std::int64_t count) HWY_ATTR {
    const V by = load(shift + c, count);
    V total = load(sum + c, count);
    for (float* at = s + c; at < s + rows * columns; at += columns) {
      const V e = exp(hn::Sub(load(at, count), by));  // which is 0 for −∞ − −∞
      total = hn::Add(total, e);
      store(e, at, count);
    }
    store(total, sum + c, count);
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
HWY_EXPORT(ColumnsMax);
HWY_EXPORT(ColumnsExp);

namespace {

// Statistics and quotients, + ε and √; weight and bias are one operation each.
void count_norm(const NormRow& row, std::int64_t per_element) {
  count_elementwise(row.n * (per_element + (row.weight != nullptr ? 1 : 0) + (row.bias != nullptr ? 1 : 0)) + 2);
}

}  // namespace

float vector_max(const float* x, std::int64_t n) {
  count_elementwise(n - 1);
  return HWY_DYNAMIC_DISPATCH(Max)(x, n);
}
float vector_exp(float* x, std::int64_t n, float shift) {
  count_elementwise(3 * n - 1);
  return HWY_DYNAMIC_DISPATCH(Exp)(x, n, shift);
}
void vector_rescale(float* x, std::int64_t n, float factor) { HWY_DYNAMIC_DISPATCH(Scale)(x, n, factor); }
void vector_scale(float* x, std::int64_t n, float factor) {
  count_elementwise(n);
  vector_rescale(x, n, factor);
}
void vector_add(const float* a, const float* b, float* y, std::int64_t n) {
  count_elementwise(n);
  HWY_DYNAMIC_DISPATCH(Add)(a, b, y, n);
}
void vector_add_part(float* sum, const float* part, std::int64_t n) { HWY_DYNAMIC_DISPATCH(Add)(sum, part, sum, n); }
void vector_add_scaled(float* y, const float* x, std::int64_t n, float factor) {
  count_elementwise(2 * n);
  HWY_DYNAMIC_DISPATCH(AddScaled)(y, x, n, factor);
}
void vector_softcap(float* x, std::int64_t n, float factor, float cap) {
  count_elementwise(3 * n);
  HWY_DYNAMIC_DISPATCH(Softcap)(x, n, factor, cap);
}
NormStatistics vector_rms_norm(const NormRow& row, const float* x, float* y) {
  count_norm(row, 3);
  return HWY_DYNAMIC_DISPATCH(RmsNorm)(row, x, y);
}
NormStatistics vector_layer_norm(const NormRow& row, const float* x, float* y) {
  count_norm(row, 5);
  return HWY_DYNAMIC_DISPATCH(LayerNorm)(row, x, y);
}
void rotate_heads(const Rotation& rotation, const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
                  std::int64_t heads) {
  count_elementwise(6 * rotation.half * heads);
  HWY_DYNAMIC_DISPATCH(Rotate)(rotation, x, x_stride, y, y_stride, heads);
}
void columns_max(float* s, std::int64_t rows, std::int64_t columns, float factor, float* most) {
  count_elementwise((factor != 1.0f ? 2 : 1) * rows * columns);
  HWY_DYNAMIC_DISPATCH(ColumnsMax)(s, rows, columns, factor, most);
}
void columns_exp(float* s, std::int64_t rows, std::int64_t columns, const float* shift, float* sum) {
  count_elementwise(3 * rows * columns);
  HWY_DYNAMIC_DISPATCH(ColumnsExp)(s, rows, columns, shift, sum);
}

}  // namespace reckon
#endif
