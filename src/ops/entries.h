// Keys for several tokens each (DeepSeek V4's compressed keys). Of every `rate` tokens, one entry: of what each of them
// gives, kv (m elements), the sum weighed by a softmax over the tokens, element by element, of its gate + the bias of
// its place among them; then an RMSNorm, and its last elements rotated by the position of the first token. Where
// entries overlap, a token gives 2·m elements: the first m to the entry behind its own, the others to its own. Tokens
// that do not make an entry yet are kept in a state. Not trained yet.
#pragma once

#include "program/builder.h"

namespace reckon {

struct EntriesAttributes {
  std::int64_t rate;
  bool overlaps;
  double epsilon;  // of the norm
  bool operator==(const EntriesAttributes&) const = default;

  // The tokens before a new one that it may make an entry with.
  std::int64_t before() const { return (overlaps ? 2 : 1) * rate - 1; }
};

extern const OperationOf<EntriesAttributes> entries_operation;

namespace entries_input {
enum : std::size_t { kv, gate, bias, norm, table, state, cache, starts };
}

struct EntriesInputs {
  TensorId kv, gate;  // (B × T × m or 2·m)
  TensorId bias;      // (rate × m or 2·m)
  TensorId norm;      // (m)
  TensorId table;     // of rotary positions
  TensorId state;     // (B × 1 × 1 × before·2·(m or 2·m)), or no_tensor
  TensorId cache;     // (B × entries × 1 × m), or no_tensor
};
// (B × entries × 1 × m): those in the cache, or of all whole groups of tokens; there must be at least one.
TensorId entries(Builder& builder, const EntriesInputs& inputs, const EntriesAttributes& attributes, Label label);

// The entries that so many tokens have made.
inline std::int64_t entries_of(std::int64_t tokens, std::int64_t rate) { return tokens / rate; }

}  // namespace reckon
