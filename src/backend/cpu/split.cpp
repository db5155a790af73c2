// Joining two tensors along their last dimension; one head of the second may serve all of the first.
#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_join(const Launch& launch) {
  const View &a = launch.inputs[0], &b = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t shared = b.rank == 4 && b.size[2] != a.size[2] ? a.size[2] : 1;
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(a.row(r), a.width(), y.row(r));
      std::copy_n(b.row(r / shared), b.width(), y.row(r) + a.width());
    }
  });
}

}  // namespace reckon
