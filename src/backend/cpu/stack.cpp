// A tensor for each place of an extent, and back.
#include "ops/stack.h"

#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_unstack(const Launch& launch) {
  const View& x = launch.inputs[0];
  const std::int64_t n = std::ssize(launch.outputs), width = x.width();
  over_rows(launch.machine, x.rows(), width, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r)
      std::copy_n(x.row(r), width, launch.outputs[static_cast<std::size_t>(r % n)].row(r / n));
  });
}

// A part that is not there (the gradient of what nothing depends on) is zeros.
void run_stack(const Launch& launch) {
  const View& y = launch.outputs[0];
  const std::int64_t n = std::ssize(launch.inputs), width = y.width();
  over_rows(launch.machine, y.rows(), width, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const View& part = launch.inputs[static_cast<std::size_t>(r % n)];
      part.there() ? std::copy_n(part.row(r / n), width, y.row(r)) : std::fill_n(y.row(r), width, 0.0f);
    }
  });
}

}  // namespace reckon
