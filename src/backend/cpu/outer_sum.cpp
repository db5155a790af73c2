// Sums of each of one half with each of the other; and back.
#include "ops/outer_sum.h"

#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_outer_sum(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const std::int64_t n = x.width() / 2;
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * y.width());
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t i = 0; i < y.width(); ++i) y.row(r)[i] = x.row(r)[i / n] + x.row(r)[n + i % n];
  });
}

void run_outer_sum_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &dx = launch.outputs[0];
  const std::int64_t n = dx.width() / 2;
  over_rows(launch.machine, dy.rows(), 2 * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (2 * dy.width() - dx.width()));
    for (std::int64_t r = first; r < last; ++r) {
      float* to = dx.row(r);
      std::fill_n(to, dx.width(), 0.0f);
      for (std::int64_t i = 0; i < dy.width(); ++i) {
        to[i / n] += dy.row(r)[i];
        to[n + i % n] += dy.row(r)[i];
      }
    }
  });
}

}  // namespace reckon
