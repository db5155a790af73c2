// Walking over the sublayers of a stack, and what the simple cases ask for.
#pragma once

#include <reckon/model.h>
#include <reckon/role.h>

#include <type_traits>
#include <variant>

namespace reckon {

// Calls act(kind) for every sublayer of this kind, or act(sublayer) for every Sublayer, in order: in a layer, or in
// layers (all, or those that are written).
template <class Kind, class In, class Act>
void for_each(In&& in, const Act& act) {
  if constexpr (requires { in.sublayers; }) {
    for (auto& sublayer : in.sublayers) {
      if constexpr (std::is_same_v<Kind, Sublayer>) {
        act(sublayer);
      } else if (auto* kind = std::get_if<Kind>(&sublayer.kind)) {
        act(*kind);
      }
    }
  } else {
    for (auto& layer : in) for_each<Kind>(layer, act);
  }
}

// The feed-forward that a sublayer is, or whose copies are a mixture's experts; nullptr where it is neither.
inline const FeedForward* feed_forward_of(const Sublayer& sublayer) {
  const Mixture* mixture = std::get_if<Mixture>(&sublayer.kind);
  return mixture != nullptr ? &mixture->expert : std::get_if<FeedForward>(&sublayer.kind);
}
inline FeedForward* feed_forward_of(Sublayer& sublayer) {
  return const_cast<FeedForward*>(feed_forward_of(std::as_const(sublayer)));
}

// That of the layer's first sublayer that has one; nullptr where none has.
inline const FeedForward* feed_forward_of(const Layer& layer) {
  for (const Sublayer& sublayer : layer.sublayers)
    if (const FeedForward* found = feed_forward_of(sublayer)) return found;
  return nullptr;
}
inline FeedForward* feed_forward_of(Layer& layer) {
  return const_cast<FeedForward*>(feed_forward_of(std::as_const(layer)));
}

// What stands for all layers where a model is described in a line, or put into a formula: the first in the stack, or
// one of size 0 where there is none.
inline const Attention& first_attention(const Model& model) {
  static const Attention none;
  const Attention* found = find<Attention>(model);
  return found != nullptr ? *found : none;
}
inline const FeedForward& first_feed_forward(const Model& model) {
  static const FeedForward none;
  for (const Layer& layer : model.layers.written())
    if (const FeedForward* found = feed_forward_of(layer)) return *found;
  return none;
}

// The first window in the stack; 0 where no attention has one.
inline std::int64_t first_window(const Model& model) {
  std::int64_t window = 0;
  for_each<Attention>(model.layers.written(), [&](const Attention& a) { window = window > 0 ? window : a.window; });
  return window;
}

// Of a number of experts that is a square.
inline std::int64_t square_root(std::int64_t n) {
  std::int64_t root = 0;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

inline Block block_of(const Sublayer& sublayer) {
  if (std::holds_alternative<Attention>(sublayer.kind)) return Block::attention;
  if (std::holds_alternative<CrossAttention>(sublayer.kind)) return Block::cross_attention;
  if (std::holds_alternative<Recurrence>(sublayer.kind)) return Block::recurrence;
  if (std::holds_alternative<LayerInput>(sublayer.kind)) return Block::layer_input;
  return Block::feed_forward;
}

// Of the sublayers of its block in the layer, which one sublayer i is: 0 for the first.
inline std::int32_t nth_of_block(const Layer& layer, std::size_t i) {
  std::int32_t before = 0;
  for (std::size_t k = 0; k < i; ++k) before += block_of(layer.sublayers[k]) == block_of(layer.sublayers[i]);
  return before;
}

}  // namespace reckon
