// The gated delta rule (Yang et al. 2024, arXiv 2412.06464): a state that decays, and in which what a key finds is
// moved towards its value. Of each head, with values v (V wide), keys k and queries q (K), all taken token by token:
//   S ← α·S,  δ = β·(v − Sᵀ·k),  S ← S + k·δᵀ,  y = Sᵀ·q,  α = e^(−Δ·e^a)
// Δ is one number for a head, or one for each of its K (Kimi Linear, arXiv 2510.26692). The gradient goes through the
// tokens from the last to the first; states are computed again.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> delta_rule_operation, delta_rule_backward_operation;

namespace delta_input {
enum : std::size_t { query, key, value, step, decay, beta, state, starts };
}

// query and key (B × T × G × K), value (B × T × H × V), step Δ (B × T × H, or × K), decay a (H), beta (B × T × H);
// state (B × 1 × 1 × H·K·V), or no_tensor
struct DeltaInputs {
  TensorId query, key, value, step, decay, beta, state;
};
TensorId delta_rule(Builder& builder, const DeltaInputs& inputs, Label label);

}  // namespace reckon
