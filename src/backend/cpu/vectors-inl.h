// Loops over contiguous floats, whole vectors first and then what is left. Included once per instruction set, after
// simd-inl.h's manner.

#if defined(RECKON_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RECKON_VECTORS_INL_H
#undef RECKON_VECTORS_INL_H
#else
#define RECKON_VECTORS_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

using D = Floats;
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

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_VECTORS_INL_H
