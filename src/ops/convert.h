// Lowered: activations that are kept in a narrower type than kernels compute in.
//   narrow  x in float32 → x in the narrow type; x itself is rounded too, so that all readers see one value
//   widen   x in the narrow type → float32
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> narrow_operation, widen_operation;

}  // namespace reckon
