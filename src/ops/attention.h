// The products of attention (Vaswani et al., arXiv 1706.03762), with grouped heads (Ainslie et al., arXiv 2305.13245):
//   scores   q·kᵀ    (B × T × H × m), (B × S × K × m) → (B × H × T × S)
//   mix      p·v     (B × H × T × S), (B × S × K × m) → (B × T × H × m)
//   spread   pᵀ·o    (B × H × T × S), (B × T × H × m) → (B × S × K × m)   each key's share of what its queries hold
// The gradient of each is made of the others. K divides H; H/K query heads share a key/value head.
#pragma once

#include "ops/pairs.h"
#include "program/builder.h"

namespace reckon {

// What attention lets through and how it shapes its scores.
struct AttentionRule {
  AttentionMask mask{};
  double scale = 1.0;
  double softcap = 0.0;
  double alibi = 0.0;  // factor of ALiBi's slopes; 0 = none
  bool operator==(const AttentionRule&) const = default;
};

struct ScoresAttributes {
  AttentionMask mask{};
  double scale = 1.0;
  double softcap = 0.0;
  bool operator==(const ScoresAttributes&) const = default;
};

extern const OperationOf<ScoresAttributes> scores_operation, scores_backward_operation;
extern const OperationOf<AttentionMask> mix_operation, spread_operation;

TensorId scores(Builder& builder, TensorId query, TensorId key, const AttentionRule& rule, Label label);
TensorId mix(Builder& builder, TensorId weights, TensorId value, const AttentionRule& rule, Label label);

}  // namespace reckon
