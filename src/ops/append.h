// Writes new keys or values (or latents) behind those in the cache, and shows all that a query may look at.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> append_operation;

// fresh (B × T × heads × m), cache (B × capacity × heads × m) → the last `keys` entries (B × S × heads × m)
TensorId append(Builder& builder, TensorId fresh, TensorId cache, Dim keys, Label label);

}  // namespace reckon
