// Soft cap of logits: c·tanh(x / c)  (Gemma 2).
#pragma once

#include "program/builder.h"

namespace reckon {

extern const Operation softcap_operation, softcap_backward_operation;

TensorId softcap(Builder& builder, TensorId x, double cap, std::string_view name);

}  // namespace reckon
