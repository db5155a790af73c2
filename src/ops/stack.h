// A tensor for each place of an extent, and back, copied.
//   unstack   x (… × n × m) → n tensors (… × m)
//   stack     n tensors (… × m) → (… × n × m)
// What each layer reads of the token itself is made for all layers at once.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> unstack_operation, stack_operation;

TensorIds unstack(Builder& builder, TensorId x, Label label);

}  // namespace reckon
