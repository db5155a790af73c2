// The same elements under another shape: no work, no memory.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> view_operation;

TensorId view(Builder& builder, TensorId x, const Shape& shape);

}  // namespace reckon
