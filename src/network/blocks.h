// The parts of a layer: norms, attention in its kinds, feed-forward, mixtures and recurrences.
#pragma once

#include <reckon/model.h>

#include "program/builder.h"

#include <map>
#include <utility>
#include <vector>

namespace reckon {

// What every part needs: the model, the extents of the workload, and the tables that layers share.
struct Network {
  const Model& model;
  Builder& builder;
  Dim batch, tokens, d_model;
  Shape positions;               // of the tokens
  std::int64_t capacity, chunk;  // of the cache, and of what is added to it at once
  bool decode;
  bool cached;  // prefill and decode fill a cache
  std::vector<std::pair<Rope, TensorId>> rope_tables{};
  std::vector<std::pair<PositionScale, TensorId>> position_tables{};
  TensorId encoder = no_tensor;  // (B × Tₑ × d)
  Dim encoder_tokens{};
  std::vector<std::int32_t> owners{};  // of each layer's weights; empty where every layer has its own
  std::size_t layer = 0;               // that is written
  std::map<std::size_t, std::pair<TensorId, TensorId>> keys_values{};  // by layer, where later ones read them
  TensorIds layer_inputs{};                                            // by layer; (B × T × p)
  TensorIds streams{};                                                 // AltUp's
  TensorId stream_norm = no_tensor, stream_router = no_tensor;         // of this layer, which reads streams twice
  TensorId embedded = no_tensor;                                       // (B × T × d), where layers read it once more
  TensorId ids = no_tensor;                                            // of the tokens
  TensorId router_state = no_tensor;  // what the router before made of the stream, where routers are chained
  std::vector<TensorId> choices{};    // of keys, by layer, where some take those of another

  TensorId rope_table(const Rope& rope) const;
  TensorId position_table(const PositionScale& scale) const;
};

// y = norm(x) with the weight and the bias of that role; `parameter` is their shape, by default the last extent of x
TensorId apply_norm(Network& network, const Norm& norm, TensorId x, Role role, Shape parameter = {});

// y = x·Wᵀ + b with the weight (out × in) and the bias of that role
TensorId apply_linear(Network& network, TensorId x, Dim out, bool bias, Role role);

// x plus its convolution over so many tokens, with the weight of that role
TensorId add_convolved(Network& network, TensorId x, std::int64_t width, Role role);

// A convolution of each channel over so many tokens, with the weight of that role and, where it has one, the bias
TensorId convolve(Network& network, TensorId x, std::int64_t width, bool bias, Role role);
// The state of so many elements a sequence that the op of that role has, where there is a cache.
TensorId convolution_state(Network& network, std::int64_t elements, Role role);

// What each kind of sublayer makes of x
TensorId apply(Network& network, const Attention& attention, TensorId x);
TensorId apply(Network& network, const CrossAttention& cross, TensorId x);
TensorId apply(Network& network, const FeedForward& feed_forward, TensorId x);
TensorId apply(Network& network, const Mixture& mixture, TensorId x);
TensorId apply(Network& network, const Recurrence& recurrence, TensorId x);
TensorId apply(Network& network, const LayerInput& input, TensorId x);

// streams.cpp: what layers read of the tokens, and AltUp's streams.
void make_layer_inputs(Network& network, TensorId ids, TensorId embedded);
TensorId laurel(Network& network, const Laurel& laurel, TensorId x);
// How much of each stream of hyper-connections is read and written, by the weights of that block; `head`: read alone
TensorId stream_weights(Network& network, TensorId streams, Block block, bool head = false);
void open_streams(Network& network, TensorId embedded);  // of what enters the stack
TensorId predict_streams(Network& network);              // the active one
void correct_streams(Network& network, TensorId made);   // by what the layer made of the active one
TensorId close_streams(Network& network);                // to one again

}  // namespace reckon
