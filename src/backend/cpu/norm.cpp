// LayerNorm and RMSNorm, row by row.
#include "ops/norm.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

namespace reckon {

void run_norm(const Launch& launch) {
  const View &x = launch.inputs[0], &weight = launch.inputs[1], &bias = launch.inputs[2], &y = launch.outputs[0];
  const bool layer = launch.op.operation == &layer_norm_operation;
  NormRow row{x.width(), static_cast<float>(launch.op.attributes.get("epsilon")), nullptr, nullptr,
              launch.op.attributes.flag("weight_plus_one") ? 1.0f : 0.0f};
  const float* weights = weight.parameter != nullptr ? weight.parameter->values.data() : nullptr;
  const float* biases = bias.parameter != nullptr ? bias.parameter->values.data() : nullptr;
  // A weight per head repeats after as many rows as there are heads.
  const std::int64_t heads = weight.rank == 2 ? weight.size[0] : 1;
  over_rows(launch.machine, x.rows(), 4 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    NormRow own = row;
    for (std::int64_t r = first; r < last; ++r) {
      if (weights != nullptr) own.weight = weights + r % heads * x.width();
      if (biases != nullptr) own.bias = biases + r % heads * x.width();
      (layer ? vector_layer_norm : vector_rms_norm)(own, x.row(r), y.row(r));
    }
  });
}

}  // namespace reckon
