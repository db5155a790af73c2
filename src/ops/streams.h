// Several residual streams xᵢ (… × d), i < n (AltUp: Baykal et al., arXiv 2301.13310).
//   predict     yⱼ = xⱼ + Σᵢ cⱼᵢ·xᵢ          coefficients c (… × n²), n numbers for each j
//   correct     yᵢ = pᵢ + (1 + cᵢ)·(x − pₐ)   by what a layer made, x, of the active stream a; c (… × n)
//   magnitude   y = x·√(mean(t²) / max(mean(x²), 10⁻⁵)): x as large as t, row by row
#pragma once

#include "program/builder.h"

namespace reckon {

struct CorrectAttributes {
  std::int64_t active;
  bool operator==(const CorrectAttributes&) const = default;
};

constexpr double least_magnitude = 1e-5;  // of a mean square that is divided by

extern const OperationOf<> predict_operation, predict_backward_operation, magnitude_operation,
    magnitude_backward_operation;
extern const OperationOf<CorrectAttributes> correct_operation, correct_backward_operation;

TensorIds predict(Builder& builder, const TensorIds& streams, TensorId coefficients, Label label);
TensorIds correct(Builder& builder, const TensorIds& predicted, TensorId made, TensorId coefficients,
                  std::int64_t active, Label label);
TensorId match_magnitude(Builder& builder, TensorId x, TensorId target, Label label);

}  // namespace reckon
