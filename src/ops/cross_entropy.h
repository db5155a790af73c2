// The loss: mean over tokens of −log softmax(logits)[label].
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> cross_entropy_operation, cross_entropy_backward_operation;

// logits (B × T × V), labels (B × T) → a scalar
TensorId cross_entropy(Builder& builder, TensorId logits, TensorId labels, Label label);

}  // namespace reckon
