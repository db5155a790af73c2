// e^(w·x), and its gradient.
#include "ops/exponential.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cmath>

namespace reckon {

void run_exponential(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const float* w = launch.inputs[1].parameter->values.data();
  over_rows(launch.machine, y.rows(), 8 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise(2 * (last - first) * y.width());
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t i = 0; i < y.width(); ++i) y.row(r)[i] = std::exp(w[i] * x.row(r)[i]);
  });
}

// Inputs: dy, x, w, y. The factors' gradients are summed from the first row to the last.
void run_exponential_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &y = launch.inputs[3];
  const View &dx = launch.outputs[0], &dw = launch.outputs[1];
  const float* w = launch.inputs[2].parameter->values.data();
  const std::int64_t width = dx.width(), rows = dx.rows();
  float* to = dw.there() ? dw.floats() : nullptr;
  if (to != nullptr && !launch.adds(dw)) std::fill_n(to, width, 0.0f);
  count_elementwise((to != nullptr ? 4 : 2) * rows * width);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float through = dy.row(r)[i] * y.row(r)[i];
      dx.row(r)[i] = through * w[i];
      if (to != nullptr) to[i] += through * x.row(r)[i];
    }
  }
}

}  // namespace reckon
