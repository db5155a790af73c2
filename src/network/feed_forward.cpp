// The feed-forward of a layer: dense, gated or plain, or a mixture of experts.
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/elementwise.h"
#include "ops/mixture.h"

namespace reckon {
namespace {

Role role(Part part, Expert expert = Expert::none) { return {Block::feed_forward, part, expert}; }

// down(act(gate(x)) · up(x)), or down(act(up(x))) without a gate. product(x, out, role) is each of the products.
template <class Product>
TensorId feed_forward(Network& n, const FeedForward& f, TensorId x, Dim out, Symbol symbol, Expert expert,
                      const Product& product) {
  const Dim d_ff(f.d_ff, symbol);
  TensorId gate = f.gated ? product(x, d_ff, role(Part::gate, expert)) : no_tensor;
  if (f.gated && f.gate_scale != 1.0) gate = scale(n.builder, gate, f.gate_scale, "scaled");
  const TensorId up = product(x, d_ff, role(Part::up, expert));
  n.builder.set_role(role(Part::activation, expert));
  const TensorId hidden = activate(n.builder, f, f.gated ? gate : up, f.gated ? up : no_tensor, "hidden");
  return product(hidden, out, role(Part::down, expert));
}

TensorId dense(Network& n, const FeedForward& f, TensorId x, Symbol symbol, Expert expert) {
  return feed_forward(n, f, x, n.d_model, symbol, expert,
                      [&](TensorId in, Dim out, Role at) { return apply_linear(n, in, out, f.bias, at); });
}

}  // namespace

TensorId apply(Network& n, const FeedForward& f, TensorId x) { return dense(n, f, x, Symbol::d_ff, Expert::none); }

TensorId apply(Network& n, const Mixture& m, TensorId x) {
  Builder& b = n.builder;
  const FeedForward& f = m.expert;
  const Dim experts(m.n_experts, Symbol::experts);
  const TensorId logits = apply_linear(n, x, experts, m.router_bias, role(Part::router));
  TensorId correction = no_tensor;
  if (m.correction_bias) {
    correction = b.weight(TensorKind::constant, role(Part::correction), Piece::bias, {experts}, DType::float32);
  }
  const auto [choice, weights] = route(b, m, logits, correction);
  const TensorId entering =
      m.d_latent > 0 ? apply_linear(n, x, m.d_latent, m.latent_bias, role(Part::into_experts)) : x;
  b.set_role(role(Part::dispatch));
  const Dispatched dispatched = dispatch(b, entering, choice, experts);  // rows (B × T × k × d)
  const auto grouped = [&](TensorId rows, Dim out, Role at) {
    b.set_role(at);
    const TensorId weight = b.parameter(at, Piece::weight, {experts, out, b.shape(rows)[-1]});
    const TensorId bias = f.bias ? b.parameter(at, Piece::bias, {experts, out}) : no_tensor;
    return grouped_linear(b, rows, weight, bias, dispatched.offsets, "out");
  };
  const TensorId rows =
      feed_forward(n, f, dispatched.rows, b.shape(entering)[-1], Symbol::d_expert, Expert::routed, grouped);
  b.set_role(role(Part::combine));
  TensorId y = combine(b, rows, weights, dispatched.order, "combined");
  if (m.d_latent > 0) y = apply_linear(n, y, n.d_model, m.latent_bias, role(Part::out_of_experts));
  if (!m.shared) return y;
  const TensorId shared = dense(n, *m.shared, x, Symbol::d_shared, Expert::shared);
  b.set_role(role(Part::combine));
  return add(b, y, shared, "combined");
}

}  // namespace reckon
