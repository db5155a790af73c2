// The matmul FLOPs of a ledger by the parts that grow differently. Cheaper than rows(): no text is made.
#pragma once

#include <reckon/ledger.h>

namespace reckon {

struct MatmulParts {
  std::int64_t projections = 0;        // of attention, self and cross; the embedding's where there is one
  std::int64_t scores_and_mixing = 0;  // grows with two lengths: new tokens, and the keys that they see
  std::int64_t feed_forward = 0;       // experts and routers too
  std::int64_t head = 0;
};

MatmulParts matmul_parts(const Ledger& ledger);

// Of self-attention alone.
struct AttentionParts {
  std::int64_t projections = 0, scores_and_mixing = 0;
};

AttentionParts attention_parts(const Ledger& ledger);

}  // namespace reckon
