// A causal convolution of every channel by itself over its last few tokens, as recurrent networks have it before their
// state:  y_t = Σ_j w_j·x_(t−w+1+j) + b. What came before the first token is 0, or the cache's.
#pragma once

#include "program/builder.h"

namespace reckon {

// Inputs: x, weight, bias, and where there is one the cache, which keeps the last w − 1 inputs. Backward: dy, x,
// weight.
extern const OperationOf<> short_convolution_operation, short_convolution_backward_operation;

// x (B × T × C), weight (C × w), bias (C) or no_tensor, cache (B × 1 × 1 × (w − 1)·C) or no_tensor
TensorId short_convolution(Builder& builder, TensorId x, TensorId weight, TensorId bias, TensorId cache, Label label);

}  // namespace reckon
