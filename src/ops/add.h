// Sum of two tensors: residuals, positions, gradients that meet.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> add_operation;

// a + b; b may lack leading dimensions of a, over which it is then repeated.
TensorId add(Builder& builder, TensorId a, TensorId b, Label label);

}  // namespace reckon
