// Softmax over the keys that causality and the window let through, with ALiBi's distances (Press et al.,
// arXiv 2108.12409) and learned sinks (gpt-oss) where the network has them.
#pragma once

#include "ops/attention.h"

namespace reckon {

struct SoftmaxAttributes {
  AttentionMask mask{};
  double alibi = 0.0;
  bool operator==(const SoftmaxAttributes&) const = default;
};

extern const OperationOf<SoftmaxAttributes> softmax_operation, softmax_backward_operation;

// scores (B × H × T × S), sinks (H) or no_tensor → weights of the same shape
TensorId softmax(Builder& builder, TensorId scores, TensorId sinks, const AttentionRule& rule, Label label);

}  // namespace reckon
