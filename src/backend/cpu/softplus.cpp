// log(1 + e^(x + b)) within limits, row by row.
#include "ops/softplus.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cmath>

namespace reckon {
namespace {

float softplus_of(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }

std::int64_t limits_of(const SoftplusAttributes& a) { return (a.low > 0 ? 1 : 0) + (a.high > 0 ? 1 : 0); }

}  // namespace

void run_softplus(const Launch& launch) {
  const View &x = launch.inputs[0], &bias = launch.inputs[1], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<SoftplusAttributes>();
  const auto low = static_cast<float>(a.low), high = static_cast<float>(a.high);
  over_rows(launch.machine, x.rows(), 16 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * x.width() * (3 + (bias.there() ? 1 : 0) + limits_of(a)));
    for (std::int64_t r = first; r < last; ++r) {
      const float* in = x.row(r);
      float* out = y.row(r);
      for (std::int64_t i = 0; i < x.width(); ++i) {
        out[i] = softplus_of(in[i] + (bias.there() ? bias.parameter->values[static_cast<std::size_t>(i)] : 0.0f));
        if (low > 0) out[i] = std::max(out[i], low);
        if (high > 0) out[i] = std::min(out[i], high);
      }
    }
  });
}

void run_softplus_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &bias = launch.inputs[2];
  const View &dx = launch.outputs[0], &d_bias = launch.outputs[1];
  const auto& a = launch.op.attributes<SoftplusAttributes>();
  const auto low = static_cast<float>(a.low), high = static_cast<float>(a.high);
  const std::int64_t width = x.width(), rows = x.rows();
  over_rows(launch.machine, rows, 16 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * width * (5 + (bias.there() ? 1 : 0) + limits_of(a)));
    for (std::int64_t r = first; r < last; ++r) {
      for (std::int64_t i = 0; i < width; ++i) {
        const float z = x.row(r)[i] + (bias.there() ? bias.parameter->values[static_cast<std::size_t>(i)] : 0.0f);
        const float value = softplus_of(z);
        const bool free = (low == 0 || value >= low) && (high == 0 || value <= high);
        dx.row(r)[i] = free ? dy.row(r)[i] / (1.0f + std::exp(-z)) : 0.0f;
      }
    }
  });
  if (!d_bias.there()) return;
  float* to = d_bias.floats();
  if (!launch.adds(d_bias)) std::fill_n(to, width, 0.0f);
  count_elementwise(rows * width);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i) to[i] += dx.row(r)[i];
}

}  // namespace reckon
