// Rows times a number of their own, and back.
#include "ops/gate.h"

#include "backend/cpu/activate.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

// The gate has an element for each row of x, in order.
void run_gate(const Launch& launch) {
  const View &x = launch.inputs[0], &gate = launch.inputs[1], &y = launch.outputs[0];
  const Activation activation = launch.op.attributes<GateAttributes>().activation;
  const std::int64_t per_row = gate.width();
  over_rows(launch.machine, y.rows(), 2 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      float factor;
      activate(activation, gate.row(r / per_row) + r % per_row, 1, &factor);
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_scale(y.row(r), y.width(), factor);
    }
  });
}

void run_gate_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &gate = launch.inputs[2];
  const View &dx = launch.outputs[0], &d_gate = launch.outputs[1];
  const Activation activation = launch.op.attributes<GateAttributes>().activation;
  const std::int64_t per_row = gate.width();
  over_rows(launch.machine, dx.rows(), 4 * dx.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const float* g = gate.row(r / per_row) + r % per_row;
      float factor;
      activate(activation, g, 1, &factor);
      const float sum = vector_dot(dy.row(r), x.row(r), dx.width());
      activate_backward(activation, &sum, g, 1, d_gate.row(r / per_row) + r % per_row);
      std::copy_n(dy.row(r), dx.width(), dx.row(r));
      vector_scale(dx.row(r), dx.width(), factor);
    }
  });
}

}  // namespace reckon
