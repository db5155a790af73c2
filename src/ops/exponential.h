// y = e^(w·x), each element of a row with a factor of its own.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> exponential_operation, exponential_backward_operation;

// x (… × n), w (n)
TensorId exponential(Builder& builder, TensorId x, TensorId w, Label label);

}  // namespace reckon
