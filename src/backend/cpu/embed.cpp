// Rows of a stored table as float32, and what goes with them: sums, multipliers, the last token.
#include "backend/cpu/dtype.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"
#include "ops/elementwise.h"

#include <algorithm>

namespace reckon {

void run_embed(const Launch& launch) {
  const Weight& table = launch.inputs[0].parameter->matrices[0];
  const View& ids = launch.inputs[1];
  const View& y = launch.outputs[0];
  for (std::int64_t r = 0; r < y.rows(); ++r) {
    const void* row = element(table.dtype, table.data, ids.integers()[r] * table.row_stride);
    convert_weights(table.dtype, row, table.cols, y.row(r));
  }
}

// Stripes of columns go to different workers, so that each row's sum runs from the first token to the last.
void run_embed_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &ids = launch.inputs[1], &table = launch.outputs[0];
  const bool clear = launch.inputs.size() == 2 && !launch.adds(table);
  constexpr std::int64_t stripe = 64;
  const std::int64_t width = table.width();
  launch.machine.run((width + stripe - 1) / stripe, [&](std::int64_t task, int) {
    const std::int64_t begin = task * stripe, n = std::min(stripe, width - begin);
    if (clear) {
      for (std::int64_t r = 0; r < table.rows(); ++r) std::fill_n(table.row(r) + begin, n, 0.0f);
    }
    for (std::int64_t r = 0; r < dy.rows(); ++r) {
      float* sum = table.row(ids.integers()[r]) + begin;
      vector_add(sum, dy.row(r) + begin, sum, n);
    }
  });
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
  const auto factor = static_cast<float>(launch.op.attributes<ScaleAttributes>().factor);
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_scale(y.row(r), y.width(), factor);
    }
  });
}

void run_softcap(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto cap = static_cast<float>(launch.op.attributes<SoftcapAttributes>().cap);
  over_rows(launch.machine, y.rows(), 8 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_softcap(y.row(r), y.width(), 1.0f, cap);
    }
  });
}

void run_softcap_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &y = launch.inputs[1], &dx = launch.outputs[0];
  const auto cap = static_cast<float>(launch.op.attributes<SoftcapAttributes>().cap);
  over_rows(launch.machine, y.rows(), 4 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) vector_softcap_backward(dy.row(r), y.row(r), dx.row(r), y.width(), cap);
  });
}

void run_last(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  for (std::int64_t b = 0; b < x.size[0]; ++b) {
    std::copy_n(x.row(b * x.size[1] + x.size[1] - 1), x.width(), y.row(b));
  }
}

}  // namespace reckon
