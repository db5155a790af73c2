// Activations in 8 bits.
#include "ops/quantise.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/quantised.h"

namespace reckon {

void run_quantise(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const std::int64_t width = x.width(), bytes = row_bytes(DType::activation8, width);
  over_rows(launch.machine, x.rows(), 4 * width, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) quantise_row(x.row(r), width, y.data + r * bytes);
  });
}

}  // namespace reckon
