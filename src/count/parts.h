// The matmul FLOPs of a ledger by the parts that grow differently. Cheaper than rows(): no text is made.
#pragma once

#include <reckon/ledger.h>

#include <optional>

namespace reckon {

// Whether a product grows with the square of the context: it takes every query with every key.
bool pairs_tokens(Role role);

struct MatmulParts {
  Count projections;        // of attention, self and cross; the embedding's where there is one
  Count scores_and_mixing;  // grows with two lengths: new tokens, and the keys that they see
  Count feed_forward;       // experts and routers too
  Count head;
};

// Of all blocks, or of one kind alone.
MatmulParts matmul_parts(const Ledger& ledger, std::optional<Block> block = std::nullopt);

}  // namespace reckon
