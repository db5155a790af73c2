// What pairs of heads mixed, the second subtracted λ times from the first (Ye et al., arXiv 2410.05258):
//   x (… × 2h × m) → y (… × h × m), λ = e^(a·b) − e^(c·d) + initial
// Heads go in groups of 2g: g firsts, then their g seconds.
#pragma once

#include "program/builder.h"

namespace reckon {

struct DifferenceAttributes {
  double initial;
  std::int64_t group;  // g
  bool operator==(const DifferenceAttributes&) const = default;
};

extern const OperationOf<DifferenceAttributes> difference_operation, difference_backward_operation;

// vectors (4 × n): a, b, c and d
TensorId difference(Builder& builder, TensorId x, TensorId vectors, const DifferenceAttributes& attributes,
                    Label label);

}  // namespace reckon
