// The feed-forward of a layer: dense, gated or plain, or a mixture of experts.
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/mixture.h"

namespace reckon {
namespace {

Role role(Part part, Expert expert = Expert::none) { return {Block::feed_forward, part, expert}; }

TensorId dense(Network& n, const FeedForward& f, TensorId x, Symbol symbol, Expert expert) {
  const Dim d_ff(f.d_ff, symbol);
  const TensorId gate = f.gated ? apply_linear(n, x, d_ff, f.bias, role(Part::gate, expert)) : no_tensor;
  const TensorId up = apply_linear(n, x, d_ff, f.bias, role(Part::up, expert));
  n.builder.set_role(role(Part::activation, expert));
  const TensorId h =
      f.gated ? activate(n.builder, f, gate, up, "hidden") : activate(n.builder, f, up, no_tensor, "hidden");
  return apply_linear(n, h, n.d_model, f.bias, role(Part::down, expert));
}

TensorId grouped(Network& n, TensorId rows, TensorId offsets, Dim experts, Dim out, bool bias, Part part) {
  Builder& b = n.builder;
  b.set_role(role(part, Expert::routed));
  const TensorId weight = b.parameter(role(part, Expert::routed), Piece::weight, {experts, out, b.shape(rows)[-1]});
  const TensorId shift = bias ? b.parameter(role(part, Expert::routed), Piece::bias, {experts, out}) : no_tensor;
  return grouped_linear(b, rows, weight, shift, offsets, "out");
}

}  // namespace

TensorId apply(Network& n, const FeedForward& f, TensorId x) { return dense(n, f, x, Symbol::d_ff, Expert::none); }

TensorId apply(Network& n, const Mixture& m, TensorId x) {
  Builder& b = n.builder;
  const FeedForward& f = m.expert;
  const Dim experts(m.n_experts, Symbol::experts), d_expert(f.d_ff, Symbol::d_expert);
  const TensorId logits = apply_linear(n, x, experts, m.router_bias, role(Part::router));
  TensorId correction = no_tensor;
  if (m.correction_bias) {
    correction = b.weight(TensorKind::constant, role(Part::correction), Piece::bias, {experts}, DType::float32);
  }
  const auto [choice, weights] = route(b, m, logits, correction);
  b.set_role(role(Part::dispatch));
  const auto [rows, order, offsets] = dispatch(b, x, choice, experts);  // (B × T × k × d)
  const TensorId gate = f.gated ? grouped(n, rows, offsets, experts, d_expert, f.bias, Part::gate) : no_tensor;
  const TensorId up = grouped(n, rows, offsets, experts, d_expert, f.bias, Part::up);
  b.set_role(role(Part::activation, Expert::routed));
  const TensorId h = f.gated ? activate(b, f, gate, up, "hidden") : activate(b, f, up, no_tensor, "hidden");
  const TensorId down = grouped(n, h, offsets, experts, n.d_model, f.bias, Part::down);
  b.set_role(role(Part::combine));
  const TensorId y = combine(b, down, weights, order, "combined");
  if (!m.shared) return y;
  const TensorId shared = dense(n, *m.shared, x, Symbol::d_shared, Expert::shared);
  b.set_role(role(Part::combine));
  return add(b, y, shared, "combined");
}

}  // namespace reckon
