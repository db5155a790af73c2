// Dropout (Srivastava et al. 2014): each element is 0 with probability p, and else divided by 1 − p. Which ones depends
// on the run's seed, the step, the op (its layer and stream) and the element alone, so the backward pass draws the
// same.
#pragma once

#include "program/builder.h"

namespace reckon {

struct DropoutAttributes {
  double probability;
  std::int64_t stream;  // tells the dropouts of one layer apart
  bool operator==(const DropoutAttributes&) const = default;
};

extern const OperationOf<DropoutAttributes> dropout_operation;

TensorId dropout(Builder& builder, TensorId x, double probability, std::int64_t stream, Label label);

}  // namespace reckon
