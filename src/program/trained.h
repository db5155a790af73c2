// Which parameters a step of training changes.
#pragma once

#include "program/program.h"

namespace reckon {

// Of a network with adapters, these alone: all else is frozen. So are indexers, whose choice has no gradient.
inline bool is_trained(const Workload& workload, const Tensor& tensor) {
  if (tensor.kind != TensorKind::parameter || is_indexer(tensor.scope.role)) return false;
  return workload.lora.rank == 0 || tensor.label.piece == Piece::lora_a || tensor.label.piece == Piece::lora_b;
}

}  // namespace reckon
