// Rows of activations in 8 bits, and the kernels of each encoding.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/instructions.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/quantised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

bool is_interleaved_faster([[maybe_unused]] DType dtype) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return can_be_interleaved(dtype);
#else
  return false;  // there are no kernels for it
#endif
}

std::int64_t lanes_of_floats() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }

// Of 32 elements the largest size, or NaN where one is that: as integers, bits of floats without a sign are in the
// order of the floats, and those of NaN behind them.
inline float largest_of(const float* x) {
#if HWY_TARGET == HWY_SCALAR
  std::int32_t bits = 0;
  for (std::int64_t i = 0; i < 32; ++i) bits = std::max(bits, std::bit_cast<std::int32_t>(std::abs(x[i])));
  return std::bit_cast<float>(bits);
#else
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> integers;
  auto bits = hn::Zero(integers);
  for (std::size_t i = 0; i < 32; i += hn::MaxLanes(d))
    bits = hn::Max(bits, hn::BitCast(integers, hn::Abs(hn::LoadU(d, x + i))));
  return hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(integers, bits)));
#endif
}

// Of 32 elements the largest becomes ±127; halves are rounded to even. Where one is not finite, the scale is NaN, and
// so is all that they are multiplied by.
void quantise(const float* x, std::int64_t k, std::byte* to) {
  auto* q = reinterpret_cast<std::int8_t*>(to);
  for (std::int64_t p = 0; p < k; p += 32) {
    std::int32_t sums[2] = {0, 0};
    const float largest = largest_of(x + p);
    const bool finite = std::isfinite(largest);
    const float scale = finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
    const float inverse = largest > 0 ? 127 / largest : 0;
    if (!finite) {
      std::memset(q + p, 0, 32);
    } else {
#if HWY_TARGET == HWY_SCALAR
      for (std::int64_t i = p; i < p + 32; ++i) q[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
      for (std::int64_t i = 0; i < 32; ++i) sums[i / 16] += q[p + i];
#else
      const hn::CappedTag<float, 16> d;
      constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
      const auto factor = hn::Set(d, inverse);
      const hn::Rebind<std::int8_t, decltype(d)> narrow;
      const hn::RebindToSigned<decltype(d)> integers;
      for (std::int64_t half = 0; half < 2; ++half) {
        auto sum_of = hn::Zero(integers);
        for (std::int64_t i = p + 16 * half; i < p + 16 * half + 16; i += lanes) {
          const auto nearest = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), factor));
          hn::StoreU(hn::DemoteTo(narrow, nearest), narrow, q + i);
          sum_of = hn::Add(sum_of, nearest);
        }
        sums[half] = hn::GetLane(hn::SumOfLanes(integers, sum_of));
      }
#endif
    }
    for (std::int64_t half = 0; half < 2; ++half) {
      const auto stored = static_cast<std::int16_t>(sums[half]);
      std::memcpy(to + k + k / 4 + p / 8 + 2 * half, &stored, 2);
    }
    const float x_sum = scale * static_cast<float>(sums[0] + sums[1]);
    std::memcpy(to + k + p / 8, &scale, 4);
    std::memcpy(to + k + k / 8 + p / 8, &x_sum, 4);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(quantise);
HWY_EXPORT(is_interleaved_faster);
HWY_EXPORT(lanes_of_floats);

std::int64_t rows_together() {
  if (byte_dots() == ByteDots::avx) return 8;
  if (byte_dots() == ByteDots::avx512) return 16;
  return HWY_DYNAMIC_DISPATCH(lanes_of_floats)();
}

bool want_interleaved(DType dtype) {
  if (dtype == DType::q8_0 && byte_dots() == ByteDots::none) return false;  // was not measured to be faster
  return HWY_DYNAMIC_DISPATCH(is_interleaved_faster)(dtype);
}

namespace {

const QuantisedKernels& kernels_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q4_1:
    case DType::mxfp4:
      return q4::kernels;
    case DType::q2_k:
    case DType::q3_k:
      return q2_k_q3_k::kernels;
    case DType::q4_k:
    case DType::q5_k:
    case DType::q6_k:
      return q4_k_to_q6_k::kernels;
    default:
      return q5_q8_iq4::kernels;
  }
}

}  // namespace

void few_quantised_rows_tile(const Tile& tile, float* scratch) {
  const QuantisedKernels& kernels = kernels_of(tile.dtype);
  (byte_dots() == ByteDots::none ? kernels.few : kernels.few_dots)(tile, scratch);
}

void many_quantised_rows_tile(const Tile& tile, float* scratch) {
  const QuantisedKernels& kernels = kernels_of(tile.dtype);
  (byte_dots() == ByteDots::none ? kernels.many : kernels.many_dots)(tile, scratch);
}

void quantise_row(const float* x, std::int64_t k, std::byte* to) {
  count_elementwise(4 * k);
  HWY_DYNAMIC_DISPATCH(quantise)(x, k, to);
}

}  // namespace reckon
#endif
