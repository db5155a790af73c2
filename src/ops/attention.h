// Attention (Vaswani et al., arXiv 1706.03762) in three steps, with grouped heads (Ainslie et al., arXiv 2305.13245):
//   scores    q·kᵀ         (B × T × H × m), (B × S × K × m) → (B × H × T × S)
//   softmax   of each row  over the keys that the mask lets through, with ALiBi's distances (Press et al.,
//                          arXiv 2108.12409), learned sinks (gpt-oss) and shifts of keys (Doge) where the network
//                          has them
//   mix       p·v          (B × H × T × S), (B × S × K × m) → (B × T × H × m)
//   spread    pᵀ·o         (B × H × T × S), (B × T × H × m) → (B × S × K × m)   each key's share of what its queries
//   hold
// The gradient of each product is made of the others. K divides H; H/K query heads share a key/value head.
#pragma once

#include "program/builder.h"

namespace reckon {

// The keys that a query sees.
struct AttentionMask {
  bool causal = true;       // none behind itself
  std::int64_t window = 0;  // the last so many; 0: all
  bool chunked = false;     // …from the last multiple of `window` on
  std::int32_t keep = 0;    // where keys have shifts: those with the so many largest ones; 0: there are none
  bool operator==(const AttentionMask&) const = default;
};

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
struct SoftmaxAttributes {
  AttentionMask mask{};
  double alibi = 0.0;
  bool operator==(const SoftmaxAttributes&) const = default;
};

extern const OperationOf<ScoresAttributes> scores_operation, scores_backward_operation;
extern const OperationOf<SoftmaxAttributes> softmax_operation, softmax_backward_operation;
extern const OperationOf<AttentionMask> mix_operation, spread_operation;

TensorId scores(Builder& builder, TensorId query, TensorId key, const AttentionRule& rule, Label label);
// sinks (H), or no_tensor; what is added to scores, or no_tensor: where the mask keeps some keys, numbers of these
// (B × S × K × 1), else what each query has for each distance below an extent (B × T × H × extent)
TensorId softmax(Builder& builder, TensorId scores, TensorId sinks, const AttentionRule& rule, Label label,
                 TensorId added = no_tensor);
TensorId mix(Builder& builder, TensorId weights, TensorId value, const AttentionRule& rule, Label label);

// The first position that a query at `position` sees.
inline std::int64_t first_seen(const AttentionMask& mask, std::int64_t position) {
  if (mask.window == 0) return 0;
  if (mask.chunked) return position / mask.window * mask.window;
  return position < mask.window ? 0 : position - mask.window + 1;
}
// The last position whose query sees the key at `position`; `none` where every later one does.
inline std::int64_t last_seeing(const AttentionMask& mask, std::int64_t position, std::int64_t none) {
  if (mask.window == 0) return none;
  return mask.chunked ? position / mask.window * mask.window + mask.window - 1 : position + mask.window - 1;
}

// The (query, key) pairs that causality and the window let through: Σ over queries i = 1…T of min(S − T + i, window),
// or where windows are chunks, of what each sees of its own.
Count visible_pairs(std::int64_t tokens, std::int64_t keys, const AttentionMask& mask);

}  // namespace reckon
