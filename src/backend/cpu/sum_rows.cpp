// The gradient of what was added to every row: a sum over rows, in stripes of columns, from the first row to the last.
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_sum_rows(const Launch& launch) {
  const View &dy = launch.inputs[0], &sum = launch.outputs[0];
  const std::int64_t width = sum.rows() * sum.width(), count = dy.rows() * dy.width() / width;
  constexpr std::int64_t stripe = 128;
  const bool adds = launch.adds(sum);
  launch.machine.run((width + stripe - 1) / stripe, [&](std::int64_t task, int) {
    const std::int64_t begin = task * stripe, n = std::min(stripe, width - begin);
    float* to = sum.floats() + begin;
    if (!adds) std::fill_n(to, n, 0.0f);
    for (std::int64_t r = 0; r < count; ++r) vector_add(to, dy.floats() + r * width + begin, to, n);
    if (!adds) count_elementwise(-n);  // the first row was added to zeros
  });
}

}  // namespace reckon
