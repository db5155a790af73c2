// Soft cap of logits: c·tanh(x / c)  (Gemma 2).
#pragma once

#include "program/builder.h"

namespace reckon {

struct SoftcapAttributes {
  double cap;
  bool operator==(const SoftcapAttributes&) const = default;
};

extern const OperationOf<SoftcapAttributes> softcap_operation, softcap_backward_operation;

TensorId softcap(Builder& builder, TensorId x, double cap, Label label);

}  // namespace reckon
