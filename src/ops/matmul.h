// Dense product of activations with a weight: y = x·Wᵀ (+ b), and the two products of its gradient.
#pragma once

#include "program/builder.h"

namespace reckon {

struct MatmulAttributes {
  bool transpose_a = false, transpose_b = false;
  bool operator==(const MatmulAttributes&) const = default;
};

extern const OperationOf<MatmulAttributes> matmul_operation;

// x (… × K), weight (N × K), bias (N) or no_tensor → (… × N)
TensorId linear(Builder& builder, TensorId x, TensorId weight, TensorId bias, Label label);

}  // namespace reckon
