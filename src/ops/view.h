// Other views of the same elements, and joining two tensors.
//   view    another shape: no work, no memory
//   split   the last dimension in two, both views of x: (… × a+b) → (… × a), (… × b)
//   join    two tensors along their last dimension, copied
// Latent attention keeps the part of a head with position apart from the part without.
#pragma once

#include "program/builder.h"

#include <utility>

namespace reckon {

extern const OperationOf<> view_operation, split_operation, join_operation, join_backward_operation;

TensorId view(Builder& builder, TensorId x, const Shape& shape);
std::pair<TensorId, TensorId> split(Builder& builder, TensorId x, Dim a, Dim b, Label first, Label second);
// a (B × T × heads × m), b (B × T × heads or 1 × n) → (B × T × heads × joined); one head of b serves all of a
TensorId join(Builder& builder, TensorId a, TensorId b, Dim joined, Label label);

}  // namespace reckon
