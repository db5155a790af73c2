// Cuts the last dimension in two (views of the same memory), and joins two along it.
// Latent attention keeps the part of a head with position apart from the part without.
#pragma once

#include "program/builder.h"

#include <utility>

namespace reckon {

extern const OperationOf<> split_operation, join_operation, join_backward_operation;

// x (… × a+b) → (… × a), (… × b)
std::pair<TensorId, TensorId> split(Builder& builder, TensorId x, Dim a, Dim b, Label first, Label second);
// a (B × T × heads × m), b (B × T × heads or 1 × n) → (B × T × heads × joined); one head of b serves all of a
TensorId join(Builder& builder, TensorId a, TensorId b, Dim joined, Label label);

}  // namespace reckon
