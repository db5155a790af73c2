// Every row of a token times the number of its position: queries that stay sharp in long texts (Llama 4).
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> position_scale_operation;

// x (B × T × heads × d_head), table (positions × 1)
TensorId scale_by_position(Builder& builder, TensorId x, TensorId table, Label label);

}  // namespace reckon
