// Attention to chosen keys (DeepSeek-V3.2's sparse attention; MiniMax M3's of blocks).
//   choose_keys    q (B × T × I × m), k (B × S × 1 × m), weights (B × T × I) or no_tensor
//                  → choice (B × T × G × top): keys, or blocks of them, in the order of their scores; −1: no more
//   attend_entries softmax(q·kᵀ)·k of the keys in a window and of entries that stand for `every` tokens each, where
//                  there are any: all that a query sees of them or those chosen; a sink takes its share
//   attend_chosen  softmax(q·kᵀ)·v of the chosen keys that a query may see; query heads share the G choices evenly
// With weights there is one choice, by Σ over the heads of weight · ReLU(q·k); without, each head's own (G = I), by the
// largest q·k of a block. Ties go to the earlier key. A choice has no gradient.
#pragma once

#include "program/builder.h"

namespace reckon {

struct ChooseAttributes {
  std::int64_t block = 1;  // keys in a block
  std::int64_t local = 0;  // blocks, from a query's own backwards, that are chosen in any case
  std::int64_t every = 1;  // tokens that a key stands for: a query sees those whose tokens all are before it or its own
  bool operator==(const ChooseAttributes&) const = default;
};
struct AttendChosenAttributes {
  std::int64_t block = 1;
  double scale = 1.0;
  bool operator==(const AttendChosenAttributes&) const = default;
};

struct AttendEntriesAttributes {
  std::int64_t window = 0;
  std::int64_t every = 1;
  double scale = 1.0;
  bool operator==(const AttendEntriesAttributes&) const = default;
};

extern const OperationOf<ChooseAttributes> choose_keys_operation;
extern const OperationOf<AttendEntriesAttributes> attend_entries_operation;  // not trained yet
extern const OperationOf<AttendChosenAttributes> attend_chosen_operation, attend_chosen_backward_operation;

TensorId choose_keys(Builder& builder, TensorId query, TensorId keys, TensorId weights, std::int64_t top,
                     const ChooseAttributes& attributes);
TensorId attend_chosen(Builder& builder, TensorId query, TensorId keys, TensorId values, TensorId choice,
                       const AttendChosenAttributes& attributes, Label label);

// query (B × T × H × m), keys (B × S × 1 × m), entries (B × E × 1 × m) or no_tensor, choice (B × T × 1 × top) or
// no_tensor, sinks (H)
TensorId attend_entries(Builder& builder, TensorId query, TensorId keys, TensorId entries, TensorId choice,
                        TensorId sinks, const AttendEntriesAttributes& attributes, Label label);
// The pairs of queries and entries that are seen, or of these the `top` first of each query; 0: all.
Count entry_pairs(std::int64_t tokens, std::int64_t past, std::int64_t every, std::int64_t top);

// Σ over the queries at positions past … past + tokens of the keys that each of them sees: all of its chosen blocks,
// its own as far as itself.
Count chosen_pairs(std::int64_t tokens, std::int64_t past, std::int64_t top, std::int64_t block);

}  // namespace reckon
