// Changing a Model the way a person asks "what if": more layers, another feed-forward, no biases.
//
// A change touches what it names, and the sizes that were derived from it follow:
//   d_head       d_model / heads, where it was that before; else it stays
//   kv_heads     as many as heads, where it was that before; else they stay
//   d_ff         keeps its ratio to d_model, and so do the widths of experts and of the shared expert
//   score scale  1/√d_head, where it was that before;  rotated elements keep their share of a head
// What cannot follow exactly is a reckon::UsageError that asks for the missing size.
#pragma once

#include <reckon/model.h>

#include <cstdint>
#include <optional>

namespace reckon {

struct Changes {
  enum class FeedForwardForm { gelu, relu, silu, swiglu, geglu };
  enum class NormPosition { pre, post };
  enum class PositionKind { learned, sinusoidal, rope, alibi, none };

  // Repeats the stack's own pattern: what came before the pattern (DeepSeek's dense layers) stays once, then the
  // shortest repeating run of layers (Gemma's five sliding and one full) goes on. Fewer layers are the first ones.
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> d_model;
  std::optional<std::int64_t> heads, kv_heads, d_head;  // latent attention can only change its heads
  // Each width by itself: of dense feed-forwards, of routed experts, of the shared expert (all shared ones together).
  // One that the model has nothing for is refused.
  std::optional<std::int64_t> d_ff, d_expert, d_shared;
  // d_ff such that a feed-forward's matrices hold 8·d² elements: 4·d plain, the whole number nearest 8/3·d gated.
  bool match_d_ff = false;
  std::optional<std::int64_t> vocab, context;
  std::optional<FeedForwardForm> ffn;  // d_ff stays
  // Every norm, the final one included. An RMSNorm has no bias; a LayerNorm gets one if the model has biases.
  std::optional<Norm::Kind> norm;
  // post: each norm stands after its residual sum and the last block's ends the stack, so there is no final norm
  // (Vaswani et al. 2017). pre: each norm stands before its sublayer, and there is a final norm.
  std::optional<NormPosition> norm_position;
  // rope is over full heads with base 10,000 unless the model has RoPE already.
  std::optional<PositionKind> positions;
  std::optional<bool> tied;
  std::optional<bool> bias;      // on projections, feed-forwards and LayerNorms
  std::optional<bool> qkv_bias;  // on the query, key and value projections; wins over `bias`
  // Of the layers that have one, or of all if none has; 0 removes every window.
  std::optional<std::int64_t> window;
  // A dense model becomes a mixture with its feed-forward as each expert (softmax over all, top-k normalised, router
  // without bias). In a mixture, dense layers stay dense.
  std::optional<std::int64_t> experts, active_experts;
  // true adds to each layer without one the four d×d projections to an encoder's output, with biases if its attention
  // has an output bias, and no norm; false removes them.
  std::optional<bool> cross_attention;
};

Model modify(Model model, const Changes& changes);

}  // namespace reckon
