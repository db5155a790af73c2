// What a tensor or an op is in its network: the block, the part of it, the piece. Whoever groups, labels, stores,
// initialises, narrows or recomputes asks for these; paths and names are printed from them and never compared.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace reckon {

enum class Block : std::uint8_t {
  none,
  input,
  embedding,
  attention,
  cross_attention,
  feed_forward,
  recurrence,
  layer_input,  // what layers read of the token itself
  streams,      // AltUp's
  prediction,   // what a predictor's layers start from
  final_norm,
  head,
  loss,
  optimizer,
};

// Whose feed-forward it is: the block's own, one of those that a router chooses from, or the one that every token
// takes.
enum class Expert : std::uint8_t { none, routed, shared };

enum class Part : std::uint8_t {
  whole,  // the block has no parts, or all of them are meant
  token,
  position,
  project,
  norm,           // before the sublayer
  norm_after,     // of its result
  norm_residual,  // of the sum
  residual,
  query,
  key,
  value,
  query_norm,
  key_norm,
  query_down,
  query_down_norm,
  query_up,
  kv_down,
  kv_down_norm,
  kv_up,
  rope,
  cache,
  sinks,
  scores,
  softmax,
  mixing,
  output,
  router,
  correction,
  dispatch,
  gate,
  up,
  activation,
  down,
  combine,
  into_experts,  // where experts have a width of their own
  out_of_experts,
  // Of a recurrence.
  value_convolution,
  key_convolution,
  query_convolution,
  step_down,
  step,  // how far a token moves the state: Δ
  step_norm,
  decay,  // of the state: what A is made of; its bias is that of Δ
  beta,
  state,
  skip,  // from the values to the result: D
  gate_down,
  gate_norm,  // of the result, beside its gate
  // Of attention and its surroundings.
  value_norm,
  difference,  // of two heads
  mask,        // that values make
  laurel_down,
  laurel_up,
  laurel_norm,
  stream_scale,  // of the stream, element by element or all of it
  // Of mixtures.
  router_norm,
  expert_scale,
  // Of several streams.
  predict,
  correct,
  // Of an indexer.
  index_query,
  index_query_norm,
  index_key,
  index_key_norm,
  index_weight,
  choice,
  // Of a norm with a gate.
  norm_gate_down,
  norm_gate,
  // Of positions by distance, and of a learned number.
  relative,
  profile,
  factor,
  // Of keys for several tokens, and of an indexer's.
  entry,
  entry_gate,
  entry_position,
  entry_norm,
  index_entry,
  index_entry_gate,
  index_entry_position,
  index_entry_norm,
  output_down,
  // Of hyper-connections.
  hyper,
  hyper_scale,
  // Of queries, keys and values that tokens before have a part in.
  query_heads_convolution,
  key_heads_convolution,
  value_before,
  key_scale,
  result_scale,  // of what a sublayer makes
  // Of a router that is a network.
  router_down,
  router_state,
  router_first,
  router_second,
  table,  // of each token's experts
};

struct Role {
  Block block = Block::none;
  Part part = Part::whole;
  Expert expert = Expert::none;
  auto operator<=>(const Role&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
};

std::string path_of(Role role);  // "feed_forward/experts/gate"
bool is_norm(Role role);
bool is_convolution(Role role);  // of a recurrence's values, keys or queries
bool is_indexer(Role role);      // of what chooses keys, which no training changes

// Which tensor of its part something is. Most activations are only computed with, by their ids: `other`.
enum class Piece : std::uint8_t {
  other,
  weight,
  bias,
  ids,
  labels,
  positions,
  sinusoids,
  encoder,
  table,         // of rotary positions
  statistics,    // of rows, which the backward pass reads: norms' factors, sums of exponentials
  first_moment,  // of the optimizer
  second_moment,
  row_moment,  // of Adafactor: means over columns and over rows
  column_moment,
  master,  // the wide values of a weight whose narrow copy the products read
  mask,    // of dropout, where it is kept
  lora_a,  // adapters: rank × in
  lora_b,  // out × rank
  key_cache,
  value_cache,
  latent_cache,
  mask_cache,
  state_cache,
  convolution_cache,
  index_cache,
  index_keys,
  entry_cache,
  entries,
  adapter_a,  // adapters that belong to the network: rank × in
  adapter_b,  // out × rank
  // Queries, keys and values of latent attention, in their parts.
  query_nope,
  query_rope,
  query,
  folded_query,
  latent,
  latents,
  key_rope,
  keys_rope,
  keys_nope,
  keys,
  values,
  // What a run is told of each sequence.
  starts,  // the position of its first new token
  pages,   // of its cache
};

std::string_view name_of(Piece piece);  // "weight"; empty for `other`

// Where in the network something belongs.
struct Scope {
  Role role;
  std::int32_t layer = -1;                         // -1: outside the stack
  std::int32_t nth = 0;                            // of the layer's sublayers of this block; 0 is the first
  auto operator<=>(const Scope&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
};

// What tells a parameter, a constant or a cache of a model from all its others, in every program and in memory.
struct TensorKey {
  Scope scope;
  Piece piece = Piece::weight;
  auto operator<=>(const TensorKey&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
};

std::string full_name(const Scope& scope);    // "layers.3.attention.query", "layers.3.attention.1.query" of the second
std::string full_name(const TensorKey& key);  // "layers.3.attention.query.weight"

}  // namespace reckon
