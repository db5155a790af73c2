// What layers read of the tokens beside the stream, several streams instead of one, and what goes past a sublayer.
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/hyper.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/view.h"

#include <cmath>
#include <numbers>

namespace reckon {
namespace {

Role input_role(Part part) { return {Block::layer_input, part}; }
Role stream_role(Part part) { return {Block::streams, part}; }

double root(std::int64_t n) { return std::sqrt(static_cast<double>(n)); }

// What the streams are predicted or corrected by, of x: tanh(R·norm(x) / d), through one more matrix.
TensorId coefficients(Network& n, TensorId x, std::int64_t count, Part part) {
  Builder& b = n.builder;
  const AltUp& altup = *n.model.altup;
  b.set_role(stream_role(Part::norm));
  x = norm(b, altup.norm, x, n.stream_norm, no_tensor, "normed");
  x = scale(b, x, 1.0 / static_cast<double>(n.d_model.size), "scaled");
  b.set_role(stream_role(Part::router));
  x = softcap(b, linear(b, x, n.stream_router, no_tensor, "out"), 1.0, "routed");
  return apply_linear(n, x, count, false, stream_role(part));
}

// A matrix for each stream but the first.
TensorId projected(Network& n, TensorId x, std::size_t stream, Part part) {
  n.builder.set_sublayer(-1, static_cast<std::int32_t>(stream) - 1);
  return apply_linear(n, x, n.d_model, false, stream_role(part));
}

}  // namespace

void make_layer_inputs(Network& n, TensorId ids, TensorId embedded) {
  Builder& b = n.builder;
  const LayerInputs& inputs = *n.model.layer_inputs;
  const Dim layers(static_cast<std::int64_t>(n.model.layers.size()), Symbol::layers), each(inputs.d);
  const Dim all(layers.size * each.size);
  b.set_role(input_role(Part::token));
  const TensorId table = b.parameter(input_role(Part::token), Piece::weight, {inputs.vocab_size, all});
  const TensorId rows = scale(b, embed(b, table, ids, "embedded"), root(inputs.d), "scaled");
  TensorId x = apply_linear(n, embedded, all, false, input_role(Part::project));
  x = scale(b, x, 1.0 / root(n.d_model.size), "scaled");
  x = apply_norm(n, inputs.norm, view(b, x, {n.batch, n.tokens, layers, each}), input_role(Part::norm));
  b.set_role(input_role(Part::combine));
  x = add(b, x, view(b, rows, {n.batch, n.tokens, layers, each}), "sum");
  x = scale(b, x, 1.0 / std::numbers::sqrt2, "scaled");
  n.layer_inputs = unstack(b, x, "layer_input");
}

TensorId apply(Network& n, const LayerInput& input, TensorId x) {
  Builder& b = n.builder;
  const TensorId gate = apply_linear(n, x, input.d, false, input_role(Part::gate));
  b.set_role(input_role(Part::activation));
  const TensorId hidden =
      activate(b, {.activation = input.activation, .gated = true}, gate, n.layer_inputs.at(n.layer), "hidden");
  return apply_linear(n, hidden, n.d_model, false, input_role(Part::output));
}

TensorId laurel(Network& n, const Laurel& laurel, TensorId x) {
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  TensorId y = apply_linear(n, x, laurel.rank, false, role(Part::laurel_down));
  y = apply_linear(n, y, n.d_model, false, role(Part::laurel_up));
  y = apply_norm(n, laurel.norm, y, role(Part::laurel_norm));
  return add(n.builder, x, y, "laurel");
}

TensorId stream_weights(Network& n, TensorId streams, Block block, bool head) {
  Builder& b = n.builder;
  const HyperConnections& hyper = *n.model.hyper;
  const std::int64_t width = head ? hyper.streams : hyper.streams * (hyper.streams + 2);
  const Role role{block, Part::hyper}, scale_role{block, Part::hyper_scale};
  b.set_role(role);
  const TensorId normed = norm(b, hyper.norm, streams, no_tensor, no_tensor, "normed");
  const TensorId logits = apply_linear(n, normed, width, false, role);
  const TensorId base = b.parameter(role, Piece::bias, {width});
  const TensorId scales = b.parameter(scale_role, Piece::weight, {head ? 1 : 3});
  b.set_role(scale_role);
  return hyper_weights(b, logits, base, scales, {hyper.streams, hyper.iterations, hyper.epsilon}, "weights");
}

void open_streams(Network& n, TensorId embedded) {
  n.streams = {embedded};
  for (std::size_t i = 1; i < static_cast<std::size_t>(n.model.altup->streams); ++i)
    n.streams.push_back(match_magnitude(n.builder, projected(n, embedded, i, Part::project), embedded, "stream"));
  n.builder.set_sublayer(-1, 0);
}

TensorId predict_streams(Network& n) {
  const AltUp& altup = *n.model.altup;
  const auto active = static_cast<std::size_t>(altup.active);
  n.stream_norm = n.builder.parameter(stream_role(Part::norm), Piece::weight, {n.d_model});
  n.stream_router = n.builder.parameter(stream_role(Part::router), Piece::weight, {altup.streams, n.d_model});
  const TensorId c = coefficients(n, n.streams[active], altup.streams * altup.streams, Part::predict);
  n.streams = predict(n.builder, n.streams, c, "predicted");
  return n.streams[active];
}

void correct_streams(Network& n, TensorId made) {
  const AltUp& altup = *n.model.altup;
  const TensorId c = coefficients(n, made, altup.streams, Part::correct);
  n.streams = correct(n.builder, n.streams, made, c, altup.active, "corrected");
}

TensorId close_streams(Network& n) {
  Builder& b = n.builder;
  TensorId sum = n.streams[0];
  for (std::size_t i = 1; i < n.streams.size(); ++i) {
    const TensorId x = match_magnitude(b, projected(n, n.streams[i], i, Part::output), n.streams[0], "stream");
    sum = add(b, sum, x, "sum");
  }
  sum = scale(b, sum, 1.0 / static_cast<double>(n.streams.size()), "mean");
  b.set_sublayer(-1, 0);
  return sum;
}

}  // namespace reckon
