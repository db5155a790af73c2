// Lowered: an activation in 8 bits, as products with quantised weights read it.
//   quantise  x (rows × K) → x in activation8: of 32 elements each the largest becomes ±127
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> quantise_operation;

}  // namespace reckon
