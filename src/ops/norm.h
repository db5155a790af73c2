// LayerNorm (Ba et al., arXiv 1607.06450) and RMSNorm (Zhang & Sennrich, arXiv 1910.07467) over the last dimension.
#pragma once

#include <reckon/model.h>

#include "program/builder.h"

namespace reckon {

struct NormAttributes {
  double epsilon;
  bool weight_plus_one;
  bool operator==(const NormAttributes&) const = default;
};

extern const OperationOf<NormAttributes> layer_norm_operation, layer_norm_backward_operation;
extern const OperationOf<NormAttributes> rms_norm_operation, rms_norm_backward_operation;

// x (… × n); weight and bias (n, or the last dimensions of x), or no_tensor.
TensorId norm(Builder& builder, const Norm& norm, TensorId x, TensorId weight, TensorId bias, Label label);

}  // namespace reckon
