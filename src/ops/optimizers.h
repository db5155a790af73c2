// Updates of a parameter other than AdamW's. They are counted and planned; no backend has kernels for them.
//   sgd        with momentum (Sutskever et al. 2013): one moment
//   adafactor  (Shazeer and Stern, arXiv 1804.04235) without a first moment: of a matrix the means of squares over
//              columns and over rows, of a vector those of each element
//   muon       (Jordan et al. 2024): the momentum of a matrix, made orthogonal by Newton and Schulz's iteration
//   adam8bit   AdamW with both moments in blocks of 8-bit values (Dettmers et al., arXiv 2110.02861)
// All of them clip by the global norm of the gradient, as AdamW does.
#pragma once

#include "program/builder.h"

namespace reckon {

struct UpdateAttributes {
  bool decay;
  bool operator==(const UpdateAttributes&) const = default;
};
struct NewtonSchulzAttributes {
  std::int64_t steps;
  bool operator==(const NewtonSchulzAttributes&) const = default;
};

extern const OperationOf<UpdateAttributes> sgd_operation, adafactor_operation, adam8bit_operation;
// Muon's update in three: momentum and decay, the iteration on what was made of the momentum, and the step.
extern const OperationOf<> muon_operation, muon_step_operation;
extern const OperationOf<NewtonSchulzAttributes> newton_schulz_operation;

// The steps of Jordan's own code (github.com/KellerJordan/Muon), and of Moonlight (Liu et al., arXiv 2502.16982).
constexpr std::int64_t usual_muon_steps = 5;

// Below so many elements, moments of 8-bit optimizers stay wide (bitsandbytes' min_8bit_size).
constexpr std::int64_t least_8bit_elements = 4096;

void sgd(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay);
void adafactor(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay);
void adam8bit(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay);
// Of a matrix, or of several in one tensor (experts').
void muon(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, std::int64_t steps);

}  // namespace reckon
