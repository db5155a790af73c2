// Each row times one number of its own: y = act(g)·x. Gates of heads, and of shared experts.
#pragma once

#include "ops/activate.h"

namespace reckon {

struct GateAttributes {
  Activation activation;
  bool operator==(const GateAttributes&) const = default;
};

extern const OperationOf<GateAttributes> gate_operation, gate_backward_operation;

// x (… × n), gate with an element for each row of x
TensorId gate_rows(Builder& builder, TensorId x, TensorId gate, Activation activation, Label label);

}  // namespace reckon
