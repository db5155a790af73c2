// Dropout (Srivastava et al. 2014): each element is 0 with probability p, and else divided by 1 − p. Which ones depends
// on the run's seed, the step, the op (its layer and stream) and the element alone, so the backward pass draws the
// same.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const Operation dropout_operation;

// `stream` tells the dropouts of one layer apart.
TensorId dropout(Builder& builder, TensorId x, double probability, int stream, std::string_view name);

}  // namespace reckon
