// Recurrences whose state decays element by element. Of each head, with values x (P wide), keys k and queries q (N):
//   state_space  S ← α·S + k·(Δ·x)ᵀ,  y = Sᵀ·q + D·x,  α = e^(Δ·A),  A = −e^a   (Gu and Dao 2023, Dao and Gu 2024)
//   lightning    S ← α·S + k·xᵀ,      y = Sᵀ·q,        α = e^(−a)               (Qin et al. 2024)
//   rg_lru       h ← α·h + √(1 − α²)·x,  y = h,        α = e^(Δ·A),  A = −8·softplus(a)   (De et al. 2024); the first
//                token of a text is x itself
// a is one number for a head, or one for each of its N. The gradient goes through the tokens from the last to the
// first; states are computed again.
#pragma once

#include "program/builder.h"

namespace reckon {

enum class ScanRule : std::uint8_t { state_space, lightning, rg_lru };

struct ScanAttributes {
  ScanRule rule;
  bool operator==(const ScanAttributes&) const = default;
};

extern const OperationOf<ScanAttributes> scan_operation, scan_backward_operation;

namespace scan_input {
enum : std::size_t { x, step, decay, key, query, skip, state, starts };
}

// x (B × T × H × P), step Δ (B × T × H), decay a (H, or H × N), key and query (B × T × G × N), skip D (H);
// state (B × 1 × 1 × H·P·N) where there is a cache. What a rule does not have is no_tensor.
struct ScanInputs {
  TensorId x, step, decay, key, query, skip, state;
};
TensorId scan(Builder& builder, ScanRule rule, const ScanInputs& inputs, Label label);

}  // namespace reckon
