// log(1 + e^(x + b)), kept between two limits: how far a token moves the state of a recurrence (Gu and Dao 2023, arXiv
// 2312.00752, section 3.6).
#pragma once

#include "program/builder.h"

namespace reckon {

struct SoftplusAttributes {
  double low = 0.0, high = 0.0;  // 0: no such limit
  bool operator==(const SoftplusAttributes&) const = default;
};

extern const OperationOf<SoftplusAttributes> softplus_operation, softplus_backward_operation;

// x (… × n), bias (n elements) or no_tensor
TensorId softplus(Builder& builder, TensorId x, TensorId bias, const SoftplusAttributes& limits, Label label);

}  // namespace reckon
