// The optimizer's step: AdamW (Loshchilov & Hutter, arXiv 1711.05101) with clipping by the global norm of the
// gradient (Pascanu et al., arXiv 1211.5063).
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> squared_norm_operation;
struct AdamwAttributes {
  bool decay;
  bool operator==(const AdamwAttributes&) const = default;
};

extern const OperationOf<AdamwAttributes> adamw_operation;

// sum + Σ g² (sum may be no_tensor at the start) → a scalar
TensorId squared_norm(Builder& builder, TensorId sum, TensorId gradient);

// The inputs of adamw; `master` is there where the parameter is a narrow copy of wider values.
namespace adamw_input {
enum { parameter, gradient, first_moment, second_moment, norm, master };
}

// Updates parameter, first and second moment in place, and the master of a parameter that has one.
void adamw(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay);

}  // namespace reckon
