//   multiply   x, w → w·x: each row times the same numbers, or all of it times one; scales of a stream
//   take       x (… × n) → its first elements (… × m); not trained yet
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> multiply_operation, multiply_backward_operation, take_operation;

// x (… × n), w with n elements or one
TensorId multiply(Builder& builder, TensorId x, TensorId w, Label label);
TensorId take(Builder& builder, TensorId x, Dim width, Label label);

}  // namespace reckon
