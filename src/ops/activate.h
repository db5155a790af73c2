// Activations, plain and gated: act(x), act(gate)·up  (GLU variants: Shazeer, arXiv 2002.05202).
#pragma once

#include <reckon/model.h>

#include "program/builder.h"

namespace reckon {

struct ActivateAttributes {
  Activation activation;
  double clamp = 0.0;  // gpt-oss: of gate and up; 0 = none
  bool operator==(const ActivateAttributes&) const = default;
};

extern const OperationOf<ActivateAttributes> activate_operation, activate_backward_operation;

// gate (… × f), up of the same shape or no_tensor where the feed-forward is not gated
TensorId activate(Builder& builder, const FeedForward& rule, TensorId gate, TensorId up, Label label);

// Operations per element of the reference formula and of its derivative (times dy).
struct ActivationCost {
  std::int64_t forward, backward;
};
ActivationCost activation_cost(Activation activation);
// The same of an op with these attributes, its gate counted in.
ActivationCost activation_operations(const ActivateAttributes& attributes, bool gated);

}  // namespace reckon
