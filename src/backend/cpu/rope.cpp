// Rotary positions: row (b, t, head) is rotated by the angles of the position that sequence b begins at, + t.
#include "ops/rope.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_rope(const Launch& launch) {
  const View &x = launch.inputs[0], &table = launch.inputs[1], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<RopeAttributes>();
  const float direction = a.inverse ? -1.0f : 1.0f;
  const std::int64_t dims = table.size[1], half = dims / 2, tokens = x.size[1], heads = x.size[2];
  const bool in_place = x.data == y.data;
  const std::int32_t* starts = launch.inputs.size() > 2 ? launch.inputs[2].integers() : nullptr;
  over_rows(launch.machine, x.rows(), 4 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t start = starts != nullptr ? starts[r / heads / tokens] : 0;
      const float* angles = table.floats() + (start + r / heads % tokens) * dims;
      const float* in = x.row(r);
      float* out = y.row(r);
      vector_rotate(in, out, angles, angles + half, half, a.interleaved, direction);
      if (!in_place) std::copy(in + dims, in + x.width(), out + dims);
    }
  });
}

}  // namespace reckon
