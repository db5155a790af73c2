// Lowered: a matrix that is kept in blocks with a common scale, as a product of many rows reads it.
#pragma once

#include "program/builder.h"

namespace reckon {

// weight (nf4) → the same values in the type of activations
extern const OperationOf<> dequantise_operation;

}  // namespace reckon
