// Rows times a number of their own, and back.
#include "ops/gate.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void gate(const Call& c) {
  const Activation kind = c.op.attributes<GateAttributes>().activation;
  const Out y = c.out(0);
  const std::size_t width = c.out_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = activation_at(kind, c.in(1)[i / width]).value * c.in(0)[i];
  c.count(y.size() + y.size() / width * activation_operations_at(kind).value);
}

// Inputs: dy, x, gate.
void gate_backward(const Call& c) {
  const Activation kind = c.op.attributes<GateAttributes>().activation;
  const Out dx = c.out(0), d_gate = c.out(1);
  const std::size_t width = c.out_size(0, -1);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    dx[i] = activation_at(kind, c.in(2)[i / width]).value * c.in(0)[i];
    d_gate[i / width] += activation_at(kind, c.in(2)[i / width]).slope * c.in(0)[i] * c.in(1)[i];
  }
  const ActivationOperations act = activation_operations_at(kind);
  c.count(3 * dx.size() + d_gate.size() * (act.value + act.slope - 1));
}

}  // namespace reckon::reference
