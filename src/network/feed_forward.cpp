// The feed-forward of a layer: dense, gated or plain, or a mixture of experts.
#include "model/sublayers.h"
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/gate.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/outer_sum.h"
#include "ops/sparsify.h"
#include "ops/view.h"
#include "ops/xielu.h"

namespace reckon {
namespace {

Role in_feed_forward(Part part, Expert expert = Expert::none) { return {Block::feed_forward, part, expert}; }

// down(act(gate(x)) · up(x)), or down(act(up(x))) without a gate. product(x, out, role) is each of the products.
template <class Product>
TensorId feed_forward(Network& n, const FeedForward& f, TensorId x, Dim out, Symbol symbol, Expert expert,
                      const Product& product) {
  Builder& b = n.builder;
  const Dim d_ff(f.d_ff, symbol);
  TensorId low = no_tensor;
  const auto widened = [&](Part part) {
    const TensorId y = product(x, d_ff, in_feed_forward(part, expert));
    if (f.adapter_rank == 0) return y;
    // Both have what makes it narrow in common, which stands with the first.
    if (low == no_tensor)
      low = linear(b, x, b.parameter(in_feed_forward(part), Piece::adapter_a, {f.adapter_rank, b.shape(x)[-1]}),
                   no_tensor, "low_rank");
    const TensorId wide = b.parameter(in_feed_forward(part), Piece::adapter_b, {d_ff, f.adapter_rank});
    return add(b, y, linear(b, low, wide, no_tensor, "adapted"), "out");
  };
  TensorId gate = f.gated ? widened(Part::gate) : no_tensor;
  if (f.gated && f.gate_scale != 1.0) gate = scale(b, gate, f.gate_scale, "scaled");
  if (f.gated && f.sparsity > 0.0) gate = sparsify(b, gate, f.sparsity, "sparse");
  TensorId up = widened(Part::up);
  const Role at = in_feed_forward(Part::activation, expert);
  b.set_role(at);
  if (f.gated && f.limit > 0.0) {
    gate = clip(b, gate, f.limit, "clipped", true);
    up = clip(b, up, f.limit, "clipped");
  }
  TensorId hidden;
  if (f.activation == Activation::xielu) {
    const TensorId slopes = b.parameter(at, Piece::weight, {2});
    hidden = xielu(b, up, slopes, b.weight(TensorKind::constant, at, Piece::bias, {2}, DType::float32), "hidden");
  } else if (f.gated && f.clip > 0.0) {
    FeedForward alone;
    alone.activation = f.activation;
    const TensorId gated = clip(b, activate(b, alone, gate, no_tensor, "activated"), f.clip, "clipped");
    alone.activation = Activation::identity;
    hidden = activate(b, alone, gated, clip(b, up, f.clip, "clipped"), "hidden");
  } else {
    hidden = activate(b, f, f.gated ? gate : up, f.gated ? up : no_tensor, "hidden");
  }
  return product(hidden, out, in_feed_forward(Part::down, expert));
}

TensorId dense(Network& n, const FeedForward& f, TensorId x, Symbol symbol, Expert expert) {
  return feed_forward(n, f, x, n.d_model, symbol, expert,
                      [&](TensorId in, Dim out, Role at) { return apply_linear(n, in, out, f.bias, at); });
}

}  // namespace

namespace {

TensorId scaled(Network& n, TensorId y) {
  Builder& b = n.builder;
  const TensorId factor = b.parameter(in_feed_forward(Part::factor), Piece::weight, {1});
  b.set_role(in_feed_forward(Part::factor));
  return multiply(b, y, factor, "scaled");
}

}  // namespace

TensorId apply(Network& n, const FeedForward& f, TensorId x) {
  const TensorId y = dense(n, f, x, Symbol::d_ff, Expert::none);
  return f.scaled ? scaled(n, y) : y;
}

namespace {

// What the router's own network makes of the stream: a few numbers a token, with those of the router before added, and
// of these, behind a norm, by two layers of GELU, what its last matrix reads.
TensorId router_hidden(Network& n, const Mixture& m, TensorId x) {
  Builder& b = n.builder;
  TensorId r = apply_linear(n, x, m.router_rank, true, in_feed_forward(Part::router_down));
  if (m.router_chained) {
    const Role at = in_feed_forward(Part::router_state);
    const TensorId factors = b.parameter(at, Piece::weight, {m.router_rank});
    b.set_role(at);
    r = add(b, r, multiply(b, n.router_state, factors, "scaled"), "router_state");
  }
  n.router_state = r;
  FeedForward gelu;
  gelu.activation = Activation::gelu;
  r = apply_norm(n, m.router_norm, r, in_feed_forward(Part::router_norm));
  for (const Part part : {Part::router_first, Part::router_second})
    r = activate(b, gelu, apply_linear(n, r, m.router_rank, true, in_feed_forward(part)), no_tensor, "activated");
  return r;
}

}  // namespace

TensorId apply(Network& n, const Mixture& m, TensorId x) {
  Builder& b = n.builder;
  const FeedForward& f = m.expert;
  const Dim experts(m.n_experts, Symbol::experts);
  const Dim all = m.n_identity + m.n_null > 0 ? Dim(m.n_experts + m.n_identity + m.n_null) : experts;
  const auto normed = [&](TensorId y, Part part, Expert whose = Expert::none) {
    return m.own_norms ? apply_norm(n, *m.own_norms, y, in_feed_forward(part, whose)) : y;
  };
  TensorId routed = normed(x, Part::router_norm);
  if (m.router_rank > 0) routed = router_hidden(n, m, routed);
  if (m.router_scale != 1.0) routed = scale(b, routed, m.router_scale, "scaled");
  const Dim scored = m.product_keys ? Dim(2 * square_root(m.n_experts)) : all;
  TensorId logits = apply_linear(n, routed, scored, m.router_bias, in_feed_forward(Part::router));
  if (m.product_keys) logits = outer_sum(b, logits, "logits");
  if (m.router_softcap > 0.0) logits = softcap(b, logits, m.router_softcap, "logits");
  TensorId correction = no_tensor;
  if (m.correction_bias) {
    const TensorKind kind = m.correction_counted ? TensorKind::parameter : TensorKind::constant;
    const Dim corrected = m.n_always > 0 ? Dim(all.size - m.n_always) : all;
    correction = b.weight(kind, in_feed_forward(Part::correction), Piece::bias, {corrected}, DType::float32);
  }
  TensorId table = no_tensor;  // of each token's experts
  if (m.hashed) {
    const Shape shape{{n.model.vocab_size, Symbol::vocabulary}, m.n_active};
    table = b.weight(TensorKind::constant, in_feed_forward(Part::table), Piece::weight, shape, DType::float32);
  }
  b.set_role(in_feed_forward(Part::router));
  auto [choice, weights] = route(b, m, logits, correction, table, m.hashed ? n.ids : no_tensor);
  if (m.expert_scale) {
    b.set_role(in_feed_forward(Part::expert_scale));
    const TensorId scales = b.parameter(in_feed_forward(Part::expert_scale), Piece::weight, {experts, 1});
    const TensorId chosen = view(b, embed(b, scales, choice, "scales"), b.shape(weights));
    weights = activate(b, {.activation = Activation::identity, .gated = true}, weights, chosen, "weights");
  }
  TensorId entering = normed(x, Part::norm, Expert::routed);
  if (m.d_latent > 0)
    entering = apply_linear(n, entering, m.d_latent, m.latent_bias, in_feed_forward(Part::into_experts));
  b.set_role(in_feed_forward(Part::dispatch));
  Dispatched dispatched = dispatch(b, entering, choice, all);  // rows (B × T × k × d)
  if (m.weigh_inputs) dispatched.rows = weigh(b, dispatched.rows, weights, dispatched.order, "weighed");
  const auto grouped = [&](TensorId rows, Dim out, Role at) {
    b.set_role(at);
    const TensorId weight = b.parameter(at, Piece::weight, {experts, out, b.shape(rows)[-1]});
    const TensorId bias = f.bias ? b.parameter(at, Piece::bias, {experts, out}) : no_tensor;
    return grouped_linear(b, rows, weight, bias, dispatched.offsets, "out");
  };
  TensorId rows = feed_forward(n, f, dispatched.rows, b.shape(entering)[-1], Symbol::d_expert, Expert::routed, grouped);
  b.set_role(in_feed_forward(Part::combine));
  if (m.n_identity + m.n_null > 0)
    rows = pass_identity(b, rows, m.n_null > 0 ? no_tensor : dispatched.rows, dispatched.offsets, m.n_experts, "rows");
  TensorId y = combine(b, rows, m.weigh_inputs ? no_tensor : weights, dispatched.order, "combined");
  if (m.d_latent > 0) y = apply_linear(n, y, n.d_model, m.latent_bias, in_feed_forward(Part::out_of_experts));
  y = normed(y, Part::norm_after, Expert::routed);
  if (m.shared) {
    TensorId shared = dense(n, *m.shared, normed(x, Part::norm, Expert::shared), Symbol::d_shared, Expert::shared);
    shared = normed(shared, Part::norm_after, Expert::shared);
    if (m.shared_gate) {
      const TensorId gate = apply_linear(n, x, 1, false, in_feed_forward(Part::router, Expert::shared));
      b.set_role(in_feed_forward(Part::combine));
      shared = gate_rows(b, shared, gate, Activation::sigmoid, "gated");
    }
    b.set_role(in_feed_forward(Part::combine));
    y = add(b, y, shared, "combined");
  }
  if (m.output_bias) {
    b.set_role(in_feed_forward(Part::combine));
    y = add(b, y, b.parameter(in_feed_forward(Part::combine), Piece::bias, {n.d_model}), "shifted");
  }
  if (m.scaled) y = scaled(n, y);
  return m.output_scale != 1.0 ? scale(b, y, m.output_scale, "scaled") : y;
}

}  // namespace reckon
