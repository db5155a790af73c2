// What the kinds of attention share, and the parts that only rarer families have (rarer_attention.cpp): the page's
// first module that runs is without these.
#pragma once

#include "network/blocks.h"
#include "ops/attention.h"

namespace reckon::attending {

inline Role role(Part part) { return {Block::attention, part}; }

struct Widths {
  Dim heads, kv_heads, d_head, d_value;
  Dim query, key, value, mixed;  // all heads together; `mixed` is what the output projection reads
};

Widths widths(const Network& network, const Attention& attention);
AttentionRule rule_of(const Attention& attention);

// New keys or values, behind the cached ones where there is a cache.
TensorId remember(Network& network, TensorId fresh, std::int64_t window, Piece cache_piece, Label piece);
TensorId heads(Network& network, TensorId x, Dim count, Dim each);
TensorId rotate(Network& network, const std::optional<Rope>& rope, TensorId x, Label label);
// Queries (B × T × H × dₕ) times the numbers of their positions.
TensorId scale_queries(Network& network, const Attention& attention, TensorId q);
// softmax(q·kᵀ)·v
TensorId attend(Network& network, TensorId query, TensorId key, TensorId value, TensorId sinks,
                const AttentionRule& rule, Block block = Block::attention, TensorId added = no_tensor);
// What was mixed (B × T × H × dᵥ), gated by what attention reads, to the width of the model.
TensorId project_output(Network& network, const Attention& attention, const Widths& widths, TensorId x, TensorId y);

// --- rarer_attention.cpp

// Where a token's experts make its queries, and project what these mixed.
struct Routing {
  Dim experts{};
  TensorId weights = no_tensor, order = no_tensor, offsets = no_tensor;
};

// Of what pairs of heads mixed (B × T × H × 2·dₕ), the differences, normed.
TensorId subtract_heads(Network& network, const Attention& attention, TensorId y);
// What values (B × T × K·dᵥ) say of how much their keys are to be seen: (B × S × K × 1).
TensorId shifts_of(Network& network, const Attention& attention, const Widths& widths, TensorId v);
TensorId routed_queries(Network& network, const Attention& attention, const Widths& widths, TensorId x,
                        Routing& routing);
TensorId routed_output(Network& network, const Attention& attention, const Routing& routing, TensorId y);
// The keys that each token attends to (B × T × choices × top): its own choice, or that of a layer before. `latent` is
// what queries are made of.
TensorId choose(Network& network, const Attention& attention, TensorId x, TensorId latent);
// Attention to those keys alone.
TensorId attend_to(Network& network, const Attention& attention, TensorId query, TensorId key, TensorId value,
                   TensorId choice);
// DeepSeek-V2 (arXiv 2405.04434, section 2.1). The cache holds one latent and one rotated key per token. Decoding
// never expands them: the up-projection is folded into the query and the output. Otherwise keys and values are
// rebuilt for every head.
TensorId latent_attention(Network& network, const Attention& attention, TensorId x);
// What each query adds to its scores at each distance (B × T × H × extent).
TensorId by_distance(Network& network, const Attention& attention, TensorId x);
// DeepSeek V4: one head of keys, which are values too, in a window; and entries of the tokens before it.
TensorId shared_key_attention(Network& network, const Attention& attention, TensorId x);
// Queries or keys (B × T × H·dₕ) through the convolution of their channels and of their heads. What the first adds to
// each channel, the second adds to what it reads: it has a part in what comes before the text.
TensorId convolve_heads(Network& network, const ConvolvedHeads& convolved, TensorId x, Dim count, Dim each,
                        Part channels, Part of_heads);
// Of the values, the first half is made of each token, the second of the one before it. A bias is that of the token.
TensorId half_before(Network& network, const Attention& attention, const Widths& widths, TensorId x);

}  // namespace reckon::attending
