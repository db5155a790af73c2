// Each row times the same numbers, or all of it times one: y = w·x. Scales of a stream.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> multiply_operation, multiply_backward_operation;

// x (… × n), w with n elements or one
TensorId multiply(Builder& builder, TensorId x, TensorId w, Label label);

}  // namespace reckon
