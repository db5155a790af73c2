// Queries, keys and values that tokens before have a part in (compressed convolutional attention, arXiv 2510.04476).
//   head_convolution  y_t = Σ_j W_j·(x_(t−w+1+j) + a) + b of each head by itself; before the text x is 0, or the
//   cache's delay             y_t = x_(t−1), 0 before the text, or the cache's average_heads     of queries and keys:
//   (q + k)/2, of each query with its key, and the mean of those of a key scale_heads       each head times its number
// None is trained yet.
#pragma once

#include "program/builder.h"

#include <utility>

namespace reckon {

extern const OperationOf<> head_convolution_operation, delay_operation, average_heads_operation, scale_heads_operation;

// x (B × T × H × m), weight (H·m × m × w), shift a and bias b (H·m); cache (B × 1 × 1 × (w − 1)·H·m) or no_tensor,
// which keeps the last w − 1 inputs
TensorId head_convolution(Builder& builder, TensorId x, TensorId weight, TensorId shift, TensorId bias, TensorId cache,
                          Label label);
// x (B × T × C), cache (B × 1 × 1 × C) or no_tensor
TensorId delay(Builder& builder, TensorId x, TensorId cache, Label label);
// queries (B × T × H × m), keys (B × T × K × m), of which each serves H/K queries
std::pair<TensorId, TensorId> average_heads(Builder& builder, TensorId queries, TensorId keys);
// x (B × T × H × m), factors (H)
TensorId scale_heads(Builder& builder, TensorId x, TensorId factors, Label label);

}  // namespace reckon
