// Rows of a stored table as float32, and their gradient.
#include "backend/cpu/dtype.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <vector>

namespace reckon {

void run_embed(const Launch& launch) {
  const Weight& table = launch.inputs[0].parameter->matrices[0];
  const View& ids = launch.inputs[1];
  const View& y = launch.outputs[0];
  for (std::int64_t r = 0; r < y.rows(); ++r) {
    // Beyond the table (of what layers read of tokens, Gemma 3n's knows fewer of them) is its first row.
    const std::int64_t found = ids.integers()[r], id = found < table.rows ? found : 0;
    const void* row = element(table.dtype, table.data, id * table.row_stride);
    std::vector<std::byte> restored;
    const std::int64_t together = table.interleaved ? rows_together() : 1;
    if (table.interleaved && id < table.rows / together * together) {
      const std::int64_t first = id / together * together, blocks = table.cols / encoding_of(table.dtype).elements;
      restored.resize(static_cast<std::size_t>(row_bytes(table.dtype, table.cols)));
      restore_row(table.dtype,
                  static_cast<const std::byte*>(element(table.dtype, table.data, first * table.row_stride)), id - first,
                  0, blocks, restored.data());
      row = restored.data();
    }
    if (is_quantised(table.dtype))
      encoding_of(table.dtype)
          .decode(static_cast<const std::byte*>(row), table.cols / encoding_of(table.dtype).elements, y.row(r));
    else
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
      const std::int64_t found = ids.integers()[r];
      float* sum = table.row(found < table.rows() ? found : 0) + begin;
      vector_add(sum, dy.row(r) + begin, sum, n);
    }
  });
}

}  // namespace reckon
