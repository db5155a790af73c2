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
  const std::int64_t before = a.trailing ? x.width() - dims : 0;  // elements that are not rotated
  const std::int32_t* starts = launch.inputs.size() > 2 ? launch.inputs[2].integers() : nullptr;
  over_rows(launch.machine, x.rows(), 4 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last;) {  // the heads of one token
      const std::int64_t token = r / heads, start = starts != nullptr ? starts[token / tokens] : 0;
      const float* angles = table.floats() + (start + token % tokens) * dims;
      const float* in = x.row(r);
      float* out = y.row(r);
      const std::int64_t end = std::min(last, (token + 1) * heads);
      rotate_heads({angles, angles + half, half, a.interleaved, direction}, in + before, x.stride[2], out + before,
                   y.stride[2], end - r);
      for (; r < end; ++r, in += x.stride[2], out += y.stride[2]) {
        if (in_place) continue;
        std::copy(in, in + before, out);
        std::copy(in + before + dims, in + x.width(), out + before + dims);
      }
    }
  });
}

}  // namespace reckon
