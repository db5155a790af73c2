// max(x − m, 0), where m = mean + z·deviation of each row: what is below the share s of normal numbers becomes 0
// (Gaussian top-k, Gemma 3n). z is the quantile of s.
#pragma once

#include "program/builder.h"

namespace reckon {

struct SparsifyAttributes {
  double quantile;  // z
  bool operator==(const SparsifyAttributes&) const = default;
};

extern const OperationOf<SparsifyAttributes> sparsify_operation, sparsify_backward_operation;

TensorId sparsify(Builder& builder, TensorId x, double share, Label label);

// The number that the share `share` of standard normal numbers is below.
double normal_quantile(double share);

}  // namespace reckon
