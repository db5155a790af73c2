// The loss, row by row, and its gradient. A label of -1 leaves its row out.
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>

namespace reckon {
namespace {

std::int64_t counted(const View& labels, std::int64_t rows) {
  return std::count_if(labels.integers(), labels.integers() + rows, [](std::int32_t label) { return label >= 0; });
}

}  // namespace

void run_cross_entropy(const Launch& launch) {
  const View &logits = launch.inputs[0], &labels = launch.inputs[1], &loss = launch.outputs[0];
  float* kept = launch.outputs[1].floats();
  const std::int64_t rows = logits.rows(), width = logits.width();
  over_rows(launch.machine, rows, 8 * width, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const float most = vector_max(logits.row(r), width);
      kept[r] = most + std::log(vector_exp_sum(logits.row(r), width, most));
      count_elementwise(2);
    }
  });
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int32_t label = labels.integers()[r];
    if (label >= 0) sum += static_cast<double>(kept[r]) - static_cast<double>(logits.row(r)[label]);
  }
  count_elementwise(2 * rows);  // differences, sum and quotient
  loss.floats()[0] = static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(1, counted(labels, rows))));
}

void run_cross_entropy_backward(const Launch& launch) {
  const View &logits = launch.inputs[0], &labels = launch.inputs[1], &d_logits = launch.outputs[0];
  const float* kept = launch.inputs[2].floats();
  const std::int64_t rows = logits.rows(), width = logits.width();
  const auto share = static_cast<double>(std::max<std::int64_t>(1, counted(labels, rows)));
  const auto factor = static_cast<float>(launch.training->loss_scale / share);
  over_rows(launch.machine, rows, 8 * width, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::int32_t label = labels.integers()[r];
      float* to = d_logits.row(r);
      if (label < 0) {
        std::fill_n(to, width, 0.0f);
        continue;
      }
      vector_exp_scaled(logits.row(r), to, width, kept[r], factor);
      to[label] -= factor;
      count_elementwise(1);
    }
  });
}

}  // namespace reckon
