#include "ops/xielu.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace reckon {
namespace {

struct Curve {
  float p, n, beta, epsilon;
};

float softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }

Curve curve(const View& slopes, const View& shape) {
  const float beta = shape.floats()[0];
  return {softplus(slopes.parameter->values[0]), beta + softplus(slopes.parameter->values[1]), beta, shape.floats()[1]};
}

}  // namespace

void run_xielu(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const Curve c = curve(launch.inputs[1], launch.inputs[2]);
  over_rows(launch.machine, y.rows(), 16 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise(8 * (last - first) * y.width());
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      float* to = y.row(r);
      for (std::int64_t i = 0; i < y.width(); ++i) {
        const float v = from[i];
        to[i] = (v > 0 ? c.p * v * v : c.n * (std::expm1(std::min(v, c.epsilon)) - v)) + c.beta * v;
      }
    }
  });
}

// The slopes' gradients are summed row by row, then over the rows in order: the same for any number of threads.
void run_xielu_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &slopes = launch.inputs[2];
  const View &dx = launch.outputs[0], &d_slopes = launch.outputs[1];
  const Curve c = curve(slopes, launch.inputs[3]);
  const std::int64_t width = dx.width();
  std::vector<std::array<float, 2>> sums(d_slopes.there() ? static_cast<std::size_t>(dx.rows()) : 0);
  over_rows(launch.machine, dx.rows(), 32 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((d_slopes.there() ? 12 : 8) * (last - first) * width);
    for (std::int64_t r = first; r < last; ++r) {
      const float *d = dy.row(r), *from = x.row(r);
      float* to = dx.row(r);
      float up = 0, down = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        const float v = from[i];
        if (v > 0) {
          up += d[i] * v * v;
          to[i] = d[i] * (2 * c.p * v + c.beta);
        } else {
          down += d[i] * (std::expm1(std::min(v, c.epsilon)) - v);
          to[i] = d[i] * (c.n * ((v < c.epsilon ? std::exp(v) : 0.0f) - 1) + c.beta);
        }
      }
      if (!sums.empty()) sums[static_cast<std::size_t>(r)] = {up, down};
    }
  });
  if (!d_slopes.there()) return;
  for (std::size_t k = 0; k < 2; ++k) {
    float total = 0;
    for (const auto& row : sums) total += row[k];
    const float slope = slopes.parameter->values[k];
    const float gradient = total / (1 + std::exp(-slope));
    float& to = d_slopes.floats()[k];
    to = launch.adds(d_slopes) ? to + gradient : gradient;
  }
}

}  // namespace reckon
