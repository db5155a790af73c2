// Row (b, t, head) is multiplied by the number of the position that sequence b begins at, + t.
#include "ops/position_scale.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_position_scale(const Launch& launch) {
  const View &x = launch.inputs[0], &table = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t tokens = x.size[1], heads = x.size[2];
  const std::int32_t* starts = launch.inputs.size() > 2 ? launch.inputs[2].integers() : nullptr;
  over_rows(launch.machine, x.rows(), 2 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t start = starts != nullptr ? starts[r / heads / tokens] : 0;
      std::copy_n(x.row(r), x.width(), y.row(r));
      vector_scale(y.row(r), x.width(), table.floats()[start + r / heads % tokens]);
    }
  });
}

}  // namespace reckon
