// The feed-forward of a block: dense, gated or plain, or a mixture of experts.
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/mixture.h"

namespace reckon {
namespace {

struct Paths {
  std::string_view gate, up, activation, down;
};
constexpr Paths dense_paths{"feed_forward/gate", "feed_forward/up", "feed_forward/activation", "feed_forward/down"};
constexpr Paths shared_paths{"feed_forward/shared/gate", "feed_forward/shared/up", "feed_forward/shared/activation",
                             "feed_forward/shared/down"};
constexpr Paths expert_paths{"feed_forward/experts/gate", "feed_forward/experts/up", "feed_forward/experts/activation",
                             "feed_forward/experts/down"};

TensorId dense(Network& n, const FeedForward& f, TensorId x, Symbol symbol, const Paths& paths) {
  const Dim d_ff(f.d_ff, symbol);
  const TensorId gate = f.gated ? apply_linear(n, x, d_ff, f.bias, paths.gate) : no_tensor;
  const TensorId up = apply_linear(n, x, d_ff, f.bias, paths.up);
  n.builder.set_path(paths.activation);
  const TensorId h =
      f.gated ? activate(n.builder, f, gate, up, "hidden") : activate(n.builder, f, up, no_tensor, "hidden");
  return apply_linear(n, h, n.d_model, f.bias, paths.down);
}

TensorId grouped(Network& n, TensorId rows, TensorId offsets, Dim experts, Dim out, bool bias, std::string_view path) {
  Builder& b = n.builder;
  b.set_path(path);
  const TensorId weight = b.parameter(path, "weight", {experts, out, b.shape(rows)[-1]});
  const TensorId shift = bias ? b.parameter(path, "bias", {experts, out}) : no_tensor;
  return grouped_linear(b, rows, weight, shift, offsets, "out");
}

TensorId mixture(Network& n, const FeedForward& f, const Mixture& m, TensorId x) {
  Builder& b = n.builder;
  const Dim experts(m.n_experts, Symbol::experts), d_expert(f.d_ff, Symbol::d_expert);
  const TensorId logits = apply_linear(n, x, experts, m.router_bias, "feed_forward/router");
  TensorId correction = no_tensor;
  if (m.correction_bias) {
    b.set_path("feed_forward/correction");
    correction = b.tensor(TensorKind::constant, "bias", {experts}, DType::float32);
    b.set_path("feed_forward/router");
  }
  const auto [choice, weights] = route(b, m, logits, correction);
  b.set_path("feed_forward/dispatch");
  const auto [rows, order, offsets] = dispatch(b, x, choice, experts);  // (B × T × k × d)
  const TensorId gate = f.gated ? grouped(n, rows, offsets, experts, d_expert, f.bias, expert_paths.gate) : no_tensor;
  const TensorId up = grouped(n, rows, offsets, experts, d_expert, f.bias, expert_paths.up);
  b.set_path(expert_paths.activation);
  const TensorId h = f.gated ? activate(b, f, gate, up, "hidden") : activate(b, f, up, no_tensor, "hidden");
  const TensorId down = grouped(n, h, offsets, experts, n.d_model, f.bias, expert_paths.down);
  b.set_path("feed_forward/combine");
  const TensorId y = combine(b, down, weights, order, "combined");
  if (!m.shared) return y;
  const TensorId shared = dense(n, *m.shared, x, Symbol::d_shared, shared_paths);
  b.set_path("feed_forward/combine");
  return add(b, y, shared, "combined");
}

}  // namespace

TensorId feed_forward(Network& n, const Layer& layer, TensorId x) {
  if (layer.mixture) return mixture(n, layer.feed_forward, *layer.mixture, x);
  return dense(n, layer.feed_forward, x, Symbol::d_ff, dense_paths);
}

}  // namespace reckon
