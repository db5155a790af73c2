// Every sum of one of the first half and one of the second: x (… × 2n) → y (… × n²), y[i·n + j] = x[i] + x[n + j].
// Scores of experts by product keys (Lample et al., arXiv 1907.05242).
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> outer_sum_operation, outer_sum_backward_operation;

TensorId outer_sum(Builder& builder, TensorId x, Label label);

}  // namespace reckon
