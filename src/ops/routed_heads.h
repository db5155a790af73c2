// Queries that chosen experts make, and what these mixed, between the order of experts and that of heads:
//   gather_heads    rows (… × k × K·m) sorted by expert → heads (… × K·k × m), those of one key head side by side
//   scatter_heads   heads (… × K·k × m) → rows (… × k × K·m) sorted by expert
// Each is the gradient of the other. `order` says where each token's i-th row lies (ops/mixture.h).
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> gather_heads_operation, scatter_heads_operation;

TensorId gather_heads(Builder& builder, TensorId rows, TensorId order, Dim kv_heads, Label label);
TensorId scatter_heads(Builder& builder, TensorId heads, TensorId order, Label label);

}  // namespace reckon
