// Rows of activations in 8 bits, and the kernels of each encoding.
#include <algorithm>
#include <cmath>
#include <cstring>

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

// Of 32 elements the largest becomes ±127; halves are rounded to even.
void quantise(const float* x, std::int64_t k, std::byte* to) {
  auto* q = reinterpret_cast<std::int8_t*>(to);
  for (std::int64_t p = 0; p < k; p += 32) {
    std::int32_t sums[2] = {0, 0};
#if HWY_TARGET == HWY_SCALAR
    float largest = 0;
    for (std::int64_t i = p; i < p + 32; ++i) largest = std::max(largest, std::abs(x[i]));
    const float scale = largest / 127, inverse = largest > 0 ? 127 / largest : 0;
    for (std::int64_t i = p; i < p + 32; ++i) q[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
    for (std::int64_t i = 0; i < 32; ++i) sums[i / 16] += q[p + i];
#else
    const hn::CappedTag<float, 16> d;
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
    auto largest_of = hn::Zero(d);
    for (std::int64_t i = p; i < p + 32; i += lanes) largest_of = hn::Max(largest_of, hn::Abs(hn::LoadU(d, x + i)));
    const float largest = hn::GetLane(hn::MaxOfLanes(d, largest_of));
    const float scale = largest / 127, inverse = largest > 0 ? 127 / largest : 0;
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

bool want_interleaved(DType dtype) {
  if (dtype == DType::q8_0 && vnni() == Vnni::none) return false;  // was not measured to be faster
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
  (vnni() == Vnni::none ? kernels.few : kernels.few_vnni)(tile, scratch);
}

void many_quantised_rows_tile(const Tile& tile, float* scratch) {
  const QuantisedKernels& kernels = kernels_of(tile.dtype);
  (vnni() == Vnni::none ? kernels.many : kernels.many_vnni)(tile, scratch);
}

void quantise_row(const float* x, std::int64_t k, std::byte* to) {
  count_elementwise(4 * k);
  HWY_DYNAMIC_DISPATCH(quantise)(x, k, to);
}

}  // namespace reckon
#endif
