// A product with a matrix that is block-diagonal: each head of x with a matrix of its own (RG-LRU's gates).
//   y_h = x_h·W_hᵀ + b_h, and in its gradient dy_h·W_h and dy_hᵀ·x_h
#pragma once

#include "program/builder.h"

namespace reckon {

struct BlockMatmulAttributes {
  bool transposed = false;  // dy·W
  bool operator==(const BlockMatmulAttributes&) const = default;
};

extern const OperationOf<BlockMatmulAttributes> block_matmul_operation;
extern const OperationOf<> block_weight_gradient_operation;

// x (B × T × H × m), weight (H × n × m), bias (H × n) or no_tensor → (B × T × H × n)
TensorId block_linear(Builder& builder, TensorId x, TensorId weight, TensorId bias, Label label);

}  // namespace reckon
