// A learned number that multiplies, and rows that are cut short. Neither is trained yet.
//   multiply   x, a number → number · x
//   take       x (… × n) → its first elements (… × m)
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> multiply_operation, take_operation;

TensorId multiply(Builder& builder, TensorId x, TensorId factor, Label label);
TensorId take(Builder& builder, TensorId x, Dim width, Label label);

}  // namespace reckon
