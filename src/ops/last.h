// The last token of each sequence: all that a head needs to continue a text.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> last_operation;

// x (B × T × d) → (B × 1 × d)
TensorId last(Builder& builder, TensorId x, Label label);

}  // namespace reckon
