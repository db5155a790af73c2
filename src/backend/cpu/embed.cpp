// Rows of a stored table as float32, and what goes with them: sums, multipliers, the last token.
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_embed(const Launch& launch) {
  const Weight& table = launch.inputs[0].parameter->matrices[0];
  const View& ids = launch.inputs[1];
  const View& y = launch.outputs[0];
  const std::int64_t size = bits(table.dtype) / 8;
  for (std::int64_t r = 0; r < y.rows(); ++r) {
    const auto* row = static_cast<const std::byte*>(table.data) + ids.integers()[r] * table.row_stride * size;
    convert_weights(table.dtype, row, table.cols, y.row(r));
  }
}

// b may lack leading dimensions of a: its rows then repeat.
void run_add(const Launch& launch) {
  const View &a = launch.inputs[0], &b = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t repeat = b.rows();
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) vector_add(a.row(r), b.row(r % repeat), y.row(r), y.width());
  });
}

void run_scale(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto factor = static_cast<float>(launch.op.attributes.get("factor"));
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_scale(y.row(r), y.width(), factor);
    }
  });
}

void run_softcap(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto cap = static_cast<float>(launch.op.attributes.get("cap"));
  over_rows(launch.machine, y.rows(), 8 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_softcap(y.row(r), y.width(), 1.0f, cap);
    }
  });
}

void run_last(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  for (std::int64_t b = 0; b < x.size[0]; ++b) {
    std::copy_n(x.row(b * x.size[1] + x.size[1] - 1), x.width(), y.row(b));
  }
}

}  // namespace reckon
