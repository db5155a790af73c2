// LayerNorm and RMSNorm, row by row.
#include "ops/norm.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

void run_norm(const Launch& launch) {
  const View &x = launch.inputs[0], &weight = launch.inputs[1], &bias = launch.inputs[2], &y = launch.outputs[0];
  const View& kept = launch.outputs[1];
  const bool layer = launch.op.operation == &layer_norm_operation;
  const auto& a = launch.op.attributes<NormAttributes>();
  const NormRow row{x.width(), static_cast<float>(a.epsilon), nullptr, nullptr, 0.0f};
  const float* weights = weight.parameter != nullptr ? weight.parameter->values.data() : nullptr;
  std::vector<float> more;
  if (weights != nullptr && a.weight_plus_one) {
    const std::span<const float> stored = weight.parameter->values;
    const auto n = static_cast<std::int64_t>(stored.size());
    float* sums = launch.machine.scratch.of(0, n, more).data();
    std::transform(stored.begin(), stored.end(), sums, [](float w) { return w + 1.0f; });
    count_elementwise(n);
    weights = sums;
  }
  const float* biases = bias.parameter != nullptr ? bias.parameter->values.data() : nullptr;
  // A weight per head repeats after as many rows as there are heads.
  const std::int64_t heads = weight.rank == 2 ? weight.size[0] : 1;
  over_rows(launch.machine, x.rows(), 4 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    NormRow own = row;
    for (std::int64_t r = first; r < last; ++r) {
      if (weights != nullptr) own.weight = weights + r % heads * x.width();
      if (biases != nullptr) own.bias = biases + r % heads * x.width();
      const NormStatistics s = (layer ? vector_layer_norm : vector_rms_norm)(own, x.row(r), y.row(r));
      if (!kept.there()) continue;
      float* at = kept.floats() + r * (layer ? 2 : 1);
      at[0] = s.factor;
      if (layer) at[1] = s.mean;
    }
  });
}

// Rows give dx; columns, in stripes, give the gradients of weight and bias, each summed from the first row to the last.
void run_norm_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &weight = launch.inputs[2], &kept = launch.inputs[3];
  const View &dx = launch.outputs[0], &d_weight = launch.outputs[1], &d_bias = launch.outputs[2];
  const View residual = launch.inputs.size() > 4 ? launch.inputs[4] : View{};
  const bool layer = launch.op.operation == &layer_norm_backward_operation;
  const float plus = launch.op.attributes<NormAttributes>().weight_plus_one ? 1.0f : 0.0f;
  const std::int64_t width = x.width(), rows = x.rows();
  const float* weights = weight.parameter != nullptr ? weight.parameter->values.data() : nullptr;
  const std::int64_t heads = weight.rank == 2 ? weight.size[0] : 1;
  const auto statistics = [&](std::int64_t r) {
    const float* at = kept.floats() + r * (layer ? 2 : 1);
    return NormStatistics{at[0], layer ? at[1] : 0.0f};
  };
  over_rows(launch.machine, rows, 8 * width, [&](std::int64_t first, std::int64_t last, int) {
    NormRow row{width, 0.0f, nullptr, nullptr, plus};
    for (std::int64_t r = first; r < last; ++r) {
      if (weights != nullptr) row.weight = weights + r % heads * width;
      vector_norm_backward(row, statistics(r), layer, dy.row(r), x.row(r), residual.there() ? residual.row(r) : nullptr,
                           dx.row(r));
    }
  });
  if (!d_weight.there() && !d_bias.there()) return;
  constexpr std::int64_t stripe = 64;
  const std::int64_t stripes = (width + stripe - 1) / stripe;
  launch.machine.run(heads * stripes, [&](std::int64_t task, int) {
    const std::int64_t head = task / stripes, begin = task % stripes * stripe, n = std::min(stripe, width - begin);
    float* dw = d_weight.there() ? d_weight.floats() + head * width + begin : nullptr;
    float* db = d_bias.there() ? d_bias.floats() + head * width + begin : nullptr;
    if (dw != nullptr && !launch.adds(d_weight)) std::fill_n(dw, n, 0.0f);
    if (db != nullptr && !launch.adds(d_bias)) std::fill_n(db, n, 0.0f);
    for (std::int64_t r = head; r < rows; r += heads) {
      vector_norm_weight_backward(statistics(r), dy.row(r) + begin, x.row(r) + begin, n, dw, db);
    }
  });
}

}  // namespace reckon
