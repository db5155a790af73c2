#include "backend/cpu/activate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/activate.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

template <Activation kind, class D>
HWY_INLINE std::int64_t activate_lanes(D d, const float* x, std::int64_t i, std::int64_t count, float* y) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) hn::StoreU(activate<kind>(d, hn::LoadU(d, x + i)), d, y + i);
  return i;
}

void activate_all(Activation activation, const float* x, std::int64_t count, float* y) {
  with_activation(activation, [&](auto kind) HWY_ATTR {
    const std::int64_t done = activate_lanes<kind.value>(Floats(), x, 0, count, y);
    activate_lanes<kind.value>(OneFloat(), x, done, count, y);
  });
}

template <Activation kind, class D>
HWY_INLINE std::int64_t gated_lanes(D d, float clamp, const float* gate, const float* up, std::int64_t i,
                                    std::int64_t count, float* y) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto g = hn::LoadU(d, gate + i), u = hn::LoadU(d, up + i);
    hn::StoreU(clamp != 0 ? clamped_gate(d, g, u, clamp) : hn::Mul(activate<kind>(d, g), u), d, y + i);
  }
  return i;
}

void activate_gated_all(Activation activation, float clamp, const float* gate, const float* up, std::int64_t count,
                        float* y) {
  with_activation(activation, [&](auto kind) HWY_ATTR {
    const std::int64_t done = gated_lanes<kind.value>(Floats(), clamp, gate, up, 0, count, y);
    gated_lanes<kind.value>(OneFloat(), clamp, gate, up, done, count, y);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(activate_all);
HWY_EXPORT(activate_gated_all);

void activate(Activation activation, const float* x, std::int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(activate_all)(activation, x, count, y);
}

void activate_gated(Activation activation, double clamp, const float* gate, const float* up, std::int64_t count,
                    float* y) {
  HWY_DYNAMIC_DISPATCH(activate_gated_all)(activation, static_cast<float>(clamp), gate, up, count, y);
}

}  // namespace reckon
#endif
