// A hash of (seed, layer, stream, element) decides what is dropped.
#include "ops/elementwise.h"

#include "backend/cpu/kernels.h"
#include "files/random.h"

#include <algorithm>

namespace reckon {

void run_dropout(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const double probability = launch.op.attributes<DropoutAttributes>().probability;
  const bool drops = launch.training->drops;
  const auto factor = static_cast<float>(1.0 / (1.0 - probability));
  const auto limit = static_cast<std::uint64_t>(probability * 0x1p53);
  const std::uint64_t seed =
      mixed(mixed(launch.training->seed + static_cast<std::uint64_t>(launch.op.scope.layer + 1)) +
            static_cast<std::uint64_t>(launch.op.attributes<DropoutAttributes>().stream));
  const std::int64_t begin = launch.training->rank * y.rows();  // in the batch of all ranks
  over_rows(launch.machine, y.rows(), 4 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      float* to = y.row(r);
      if (!drops) {
        std::copy_n(from, y.width(), to);
        continue;
      }
      count_elementwise(2 * y.width());
      const std::uint64_t row = seed + static_cast<std::uint64_t>((begin + r) * y.width());
      for (std::int64_t i = 0; i < y.width(); ++i) {
        to[i] = mixed(row + static_cast<std::uint64_t>(i)) >> 11 < limit ? 0.0f : factor * from[i];
      }
    }
  });
}

}  // namespace reckon
