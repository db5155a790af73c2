// A tensor times a constant: embedding, residual and logit multipliers.
#pragma once

#include "program/builder.h"

namespace reckon {

struct ScaleAttributes {
  double factor;
  bool operator==(const ScaleAttributes&) const = default;
};

extern const OperationOf<ScaleAttributes> scale_operation;

TensorId scale(Builder& builder, TensorId x, double factor, Label label);

}  // namespace reckon
