// A learned number times everything, and rows that are cut short.
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_multiply(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const float factor = launch.inputs[1].parameter->values[0];
  over_rows(launch.machine, y.rows(), 2 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_scale(y.row(r), y.width(), factor);
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
