// A tensor times a constant: embedding, residual and logit multipliers.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const Operation scale_operation;

TensorId scale(Builder& builder, TensorId x, double factor, std::string_view name);

}  // namespace reckon
