#include "backend/cpu/activate.h"

#include "backend/cpu/kernels.h"
#include "ops/activate.h"

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

template <Activation kind, class D>
HWY_INLINE std::int64_t backward_lanes(D d, const float* dy, const float* x, std::int64_t i, std::int64_t count,
                                       float* dx) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, dy + i), derivative<kind>(d, hn::LoadU(d, x + i))), d, dx + i);
  }
  return i;
}

void backward_all(Activation activation, const float* dy, const float* x, std::int64_t count, float* dx) {
  with_activation(activation, [&](auto kind) HWY_ATTR {
    const std::int64_t done = backward_lanes<kind.value>(Floats(), dy, x, 0, count, dx);
    backward_lanes<kind.value>(OneFloat(), dy, x, done, count, dx);
  });
}

struct Gated {
  const float *dy, *gate, *up;
  float *d_gate, *d_up;
};

template <Activation kind, class D>
HWY_INLINE std::int64_t gated_backward_lanes(D d, float clamp, const Gated& g, std::int64_t i, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto dy = hn::LoadU(d, g.dy + i), gate = hn::LoadU(d, g.gate + i), up = hn::LoadU(d, g.up + i);
    auto d_gate = hn::Mul(hn::Mul(dy, up), derivative<kind>(d, gate)), d_up = hn::Mul(dy, activate<kind>(d, gate));
    if (clamp != 0) clamped_gate_backward(d, dy, gate, up, clamp, d_gate, d_up);
    hn::StoreU(d_gate, d, g.d_gate + i);
    hn::StoreU(d_up, d, g.d_up + i);
  }
  return i;
}

void gated_backward_all(Activation activation, float clamp, const float* dy, const float* gate, const float* up,
                        std::int64_t count, float* d_gate, float* d_up) {
  const Gated g{dy, gate, up, d_gate, d_up};
  with_activation(activation, [&](auto kind) HWY_ATTR {
    const std::int64_t done = gated_backward_lanes<kind.value>(Floats(), clamp, g, 0, count);
    gated_backward_lanes<kind.value>(OneFloat(), clamp, g, done, count);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(activate_all);
HWY_EXPORT(activate_gated_all);
HWY_EXPORT(backward_all);
HWY_EXPORT(gated_backward_all);

void activate(Activation activation, const float* x, std::int64_t count, float* y) {
  count_elementwise(count * activation_cost(activation).forward);
  HWY_DYNAMIC_DISPATCH(activate_all)(activation, x, count, y);
}

void activate_gated(Activation activation, double clamp, const float* gate, const float* up, std::int64_t count,
                    float* y) {
  count_elementwise(count * activation_operations({activation, clamp}, true).forward);
  HWY_DYNAMIC_DISPATCH(activate_gated_all)(activation, static_cast<float>(clamp), gate, up, count, y);
}

void activate_backward(Activation activation, const float* dy, const float* x, std::int64_t count, float* dx) {
  count_elementwise(count * activation_cost(activation).backward);
  HWY_DYNAMIC_DISPATCH(backward_all)(activation, dy, x, count, dx);
}

void activate_gated_backward(Activation activation, double clamp, const float* dy, const float* gate, const float* up,
                             std::int64_t count, float* d_gate, float* d_up) {
  count_elementwise(count * activation_operations({activation, clamp}, true).backward);
  HWY_DYNAMIC_DISPATCH(gated_backward_all)(activation, static_cast<float>(clamp), dy, gate, up, count, d_gate, d_up);
}

void run_activate(const Launch& launch) {
  const View &gate = launch.inputs[0], &up = launch.inputs[1], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<ActivateAttributes>();
  over_rows(launch.machine, y.rows(), 8 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      if (up.there()) {
        activate_gated(a.activation, a.clamp, gate.row(r), up.row(r), y.width(), y.row(r));
      } else {
        activate(a.activation, gate.row(r), y.width(), y.row(r));
      }
    }
  });
}

void run_activate_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &gate = launch.inputs[1], &up = launch.inputs[2];
  const View &d_gate = launch.outputs[0], &d_up = launch.outputs[1];
  const auto& a = launch.op.attributes<ActivateAttributes>();
  over_rows(launch.machine, dy.rows(), 16 * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      if (up.there()) {
        activate_gated_backward(a.activation, a.clamp, dy.row(r), gate.row(r), up.row(r), dy.width(), d_gate.row(r),
                                d_up.row(r));
      } else {
        activate_backward(a.activation, dy.row(r), gate.row(r), dy.width(), d_gate.row(r));
      }
    }
  });
}

}  // namespace reckon
#endif
