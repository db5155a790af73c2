// What of a row is above its mean and so many deviations; and back.
#include "ops/sparsify.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cmath>

namespace reckon {
namespace {

struct Moments {
  float mean, deviation;
};

Moments moments(const float* x, std::int64_t n) {
  float sum = 0, square = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
  for (std::int64_t i = 0; i < n; ++i) square += (x[i] - mean) * (x[i] - mean);
  return {mean, std::sqrt(square / static_cast<float>(n))};
}

}  // namespace

void run_sparsify(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto z = static_cast<float>(launch.op.attributes<SparsifyAttributes>().quantile);
  const std::int64_t width = y.width();
  over_rows(launch.machine, y.rows(), 6 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (6 * width + 3));
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      const Moments m = moments(from, width);
      const float limit = m.mean + z * m.deviation;
      for (std::int64_t i = 0; i < width; ++i) y.row(r)[i] = std::max(from[i] - limit, 0.0f);
    }
  });
}

// Inputs: dy, x.
void run_sparsify_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &dx = launch.outputs[0];
  const auto z = static_cast<float>(launch.op.attributes<SparsifyAttributes>().quantile);
  const std::int64_t width = dx.width();
  over_rows(launch.machine, dx.rows(), 10 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (10 * width + 5));
    for (std::int64_t r = first; r < last; ++r) {
      const float *from = x.row(r), *d = dy.row(r);
      float* to = dx.row(r);
      const Moments m = moments(from, width);
      const float limit = m.mean + z * m.deviation;
      float sum = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        to[i] = from[i] > limit ? d[i] : 0.0f;
        sum += to[i];
      }
      const float mean = sum / static_cast<float>(width), tilt = m.deviation > 0 ? mean * z / m.deviation : 0.0f;
      for (std::int64_t i = 0; i < width; ++i) to[i] -= mean + tilt * (from[i] - m.mean);
    }
  });
}

}  // namespace reckon
