// Rows times factors that all of them share, and back; and rows that are cut short.
#include "ops/multiply.h"

#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {
void run_multiply(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const float* w = launch.inputs[1].values();
  const std::int64_t width = y.width(), step = launch.inputs[1].width() == 1 ? 0 : 1;
  over_rows(launch.machine, y.rows(), 2 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * width);
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      float* to = y.row(r);
      for (std::int64_t i = 0; i < width; ++i) to[i] = w[i * step] * from[i];
    }
  });
}

// Columns, in stripes, give the factors' gradients, each summed from the first row to the last.
void run_multiply_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &dx = launch.outputs[0], &dw = launch.outputs[1];
  const float* w = launch.inputs[2].values();
  const std::int64_t width = dx.width(), rows = dx.rows(), factors = dw.width(), step = factors == 1 ? 0 : 1;
  over_rows(launch.machine, rows, 2 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * width);
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t i = 0; i < width; ++i) dx.row(r)[i] = w[i * step] * dy.row(r)[i];
  });
  constexpr std::int64_t stripe = 64;
  launch.machine.run((factors + stripe - 1) / stripe, [&](std::int64_t task, int) {
    const std::int64_t begin = task * stripe, end = std::min(begin + stripe, factors);
    float* to = dw.floats();
    if (!launch.adds(dw)) std::fill(to + begin, to + end, 0.0f);
    const std::int64_t last = step == 0 ? width : end;
    count_elementwise(2 * rows * (last - begin));
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *d = dy.row(r), *from = x.row(r);
      for (std::int64_t i = begin; i < last; ++i) to[i * step] += d[i] * from[i];
    }
  });
}

void run_take(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) std::copy_n(x.row(r), y.width(), y.row(r));
  });
}

}  // namespace reckon
