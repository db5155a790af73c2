// Rows of a table, one per id: token and position embeddings.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> embed_operation, embed_backward_operation;

// table (V × d), ids (…) → (… × d)
TensorId embed(Builder& builder, TensorId table, TensorId ids, Label label);

}  // namespace reckon
