// Recurrences: projections to values, keys, queries, steps and a gate, short convolutions, the state, and the way out.
#include "network/blocks.h"
#include "ops/activate.h"
#include "ops/block_matmul.h"
#include "ops/delta_rule.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/view.h"

#include <cmath>

namespace reckon {
namespace {

using Rule = Recurrence::Rule;

Role in_recurrence(Part part) { return {Block::recurrence, part}; }

struct RecurrentWidths {
  Dim heads, d_head, groups, d_state;
  Dim value, key;  // all heads together
};

RecurrentWidths recurrent_widths(const Network& n, const Recurrence& r) {
  const auto all = [&](std::int64_t size, Symbol symbol) {
    return size == n.d_model.size ? n.d_model : Dim(size, symbol);
  };
  return {r.n_heads,
          r.d_head,
          r.n_groups,
          {r.d_state, Symbol::d_state},
          all(r.n_heads * r.d_head, Symbol::d_inner),
          all(r.n_groups * r.d_state, Symbol::none)};
}

// A state of so many elements a sequence, where there is a cache.
TensorId state(Network& n, Part part, Piece piece, std::int64_t elements, DType type) {
  if (!n.cached) return no_tensor;
  n.builder.set_role(in_recurrence(part));
  return n.builder.tensor(TensorKind::cache, piece, {n.batch, 1, 1, elements}, type);
}

// What a convolution remembers is in the cache's type, where that is one of single elements; blocks are for attention.
DType convolution_type(const Network& n) {
  const DType cache = n.builder.program().workload.precision.cache;
  return encoding_of(cache).elements == 1 ? cache : DType::float32;
}

TensorId activated(Network& n, Activation activation, TensorId x, TensorId up = no_tensor) {
  FeedForward rule;
  rule.activation = activation;
  return activate(n.builder, rule, x, up, "activated");
}

TensorId multiplied(Network& n, TensorId x, double factor) {
  return factor == 1.0 ? x : scale(n.builder, x, factor, "scaled");
}

TensorId in_heads(Network& n, TensorId x, Dim count, Dim each) {
  return view(n.builder, x, {n.batch, n.tokens, count, each});
}

TensorId convolve(Network& n, const Recurrence& r, TensorId x, Part part) {
  return reckon::convolve(n, x, r.conv_width, r.conv_bias, in_recurrence(part));
}

// Values, keys or queries: projected, times their multiplier, and through the convolution and SiLU where there is one.
TensorId projected(Network& n, const Recurrence& r, TensorId x, Dim out, Part part, Part convolution, double factor) {
  TensorId y = multiplied(n, apply_linear(n, x, out, r.bias, in_recurrence(part)), factor);
  if (r.conv_width > 0) y = convolve(n, r, y, convolution);
  const bool activates = r.rule != Rule::rg_lru && (r.conv_width > 0 || r.rule == Rule::lightning);
  return activates ? activated(n, Activation::silu, y) : y;
}

// x / √(Σ x² + ε), times a factor: an RMSNorm with ε/n, over √n.
TensorId unit(Network& n, TensorId x, double factor) {
  constexpr double epsilon = 1e-6;
  const auto width = static_cast<double>(n.builder.shape(x)[-1].size);
  const Norm rule{Norm::Kind::rms, epsilon / width, false, false, false};
  return multiplied(n, norm(n.builder, rule, x, no_tensor, no_tensor, "normed"), factor / std::sqrt(width));
}

// What comes out of the state, normalised in parts and gated, in the order that the rule has.
TensorId gated(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x, TensorId y) {
  Builder& b = n.builder;
  const auto normed = [&](TensorId in) {
    if (!r.norm) return in;
    const Dim each(r.n_heads * r.d_head / r.norm_parts);
    if (r.norm_parts > 1) in = in_heads(n, in, r.norm_parts, each);
    Shape parameter{r.norm_parts == 1 ? w.value : each};
    if (r.norm_parts > 1 && !r.norm_shared) parameter = {r.norm_parts, each};
    in = apply_norm(n, *r.norm, in, in_recurrence(Part::gate_norm), parameter);
    return r.norm_parts > 1 ? view(b, in, {n.batch, n.tokens, w.value}) : in;
  };
  if (!r.gated) return normed(y);
  TensorId gate = x;
  if (r.gate_rank > 0) gate = apply_linear(n, gate, r.gate_rank, false, in_recurrence(Part::gate_down));
  gate = multiplied(n, apply_linear(n, gate, w.value, r.bias, in_recurrence(Part::gate)), r.scales[0]);
  if (r.norm_before_gate) y = normed(y);
  b.set_role(in_recurrence(Part::gate));
  y = activated(n, r.gate, gate, y);
  return r.norm_before_gate ? y : normed(y);
}

TensorId output(Network& n, const Recurrence& r, TensorId y) {
  return apply_linear(n, y, n.d_model, r.output_bias, in_recurrence(Part::output));
}

SoftplusAttributes limits(const Recurrence& r) { return {r.step_low, r.step_high}; }

// LFM2: q·conv(k·x)
TensorId convolution(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  const TensorId k = apply_linear(n, x, w.value, r.bias, in_recurrence(Part::key));
  const TensorId q = apply_linear(n, x, w.value, r.bias, in_recurrence(Part::query));
  const TensorId v = apply_linear(n, x, w.value, r.bias, in_recurrence(Part::value));
  b.set_role(in_recurrence(Part::key));
  TensorId y = activated(n, Activation::identity, k, v);
  y = convolve(n, r, y, Part::value_convolution);
  b.set_role(in_recurrence(Part::query));
  return activated(n, Activation::identity, q, y);
}

// Mamba: keys, queries and steps are made of the values; the steps by way of a few elements.
TensorId mamba(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  const TensorId v = projected(n, r, x, w.value, Part::value, Part::value_convolution, r.scales[1]);
  // Where there are several groups, each has matrices of its own, for its own values (Zamba).
  const auto of_groups = [&](TensorId in, Dim each, Dim out, Part part) {
    const TensorId weight = b.parameter(in_recurrence(part), Piece::weight, {w.groups, out, each});
    b.set_role(in_recurrence(part));
    const TensorId y = block_linear(b, in_heads(n, in, w.groups, each), weight, no_tensor, "out");
    return view(b, y, {n.batch, n.tokens, w.groups.size * out.size});
  };
  const Dim values(w.value.size / w.groups.size);  // of a group
  const auto made = [&](Dim out, Part part, Part norm_part) {
    if (r.n_groups > 1) return of_groups(v, values, out, part);
    const TensorId y = apply_linear(n, v, out, false, in_recurrence(part));
    return r.inner_norm ? apply_norm(n, *r.inner_norm, y, in_recurrence(norm_part)) : y;
  };
  const TensorId low = made(r.step_rank, Part::step_down, Part::step_norm);
  const TensorId k = made(w.d_state, Part::key, Part::key_norm), q = made(w.d_state, Part::query, Part::query_norm);
  TensorId step = r.n_groups > 1 ? of_groups(low, r.step_rank, values, Part::step)
                                 : apply_linear(n, low, w.value, false, in_recurrence(Part::step));
  step = softplus(b, step, b.parameter(in_recurrence(Part::decay), Piece::bias, {w.value}), limits(r), "step");
  const TensorId decay = b.parameter(in_recurrence(Part::decay), Piece::weight, {w.value, w.d_state});
  const TensorId skip = b.parameter(in_recurrence(Part::skip), Piece::weight, {w.value});
  const TensorId held = state(n, Part::state, Piece::state_cache, r.n_heads * r.d_state, DType::float32);
  b.set_role(in_recurrence(Part::state));
  return scan(b, ScanRule::state_space,
              {in_heads(n, v, w.value, 1), step, decay, in_heads(n, k, w.groups, w.d_state),
               in_heads(n, q, w.groups, w.d_state), skip, held},
              "mixed");
}

TensorId mamba2(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  const TensorId v = projected(n, r, x, w.value, Part::value, Part::value_convolution, r.scales[1]);
  const TensorId k = projected(n, r, x, w.key, Part::key, Part::key_convolution, r.scales[2]);
  const TensorId q = projected(n, r, x, w.key, Part::query, Part::query_convolution, r.scales[3]);
  TensorId step = multiplied(n, apply_linear(n, x, w.heads, r.bias, in_recurrence(Part::step)), r.scales[4]);
  step = softplus(b, step, b.parameter(in_recurrence(Part::decay), Piece::bias, {w.heads}), limits(r), "step");
  const TensorId decay = b.parameter(in_recurrence(Part::decay), Piece::weight, {w.heads});
  const TensorId skip = b.parameter(in_recurrence(Part::skip), Piece::weight, {w.heads});
  const TensorId held = state(n, Part::state, Piece::state_cache, r.n_heads * r.d_head * r.d_state, DType::float32);
  b.set_role(in_recurrence(Part::state));
  return scan(b, ScanRule::state_space,
              {in_heads(n, v, w.heads, w.d_head), step, decay, in_heads(n, k, w.groups, w.d_state),
               in_heads(n, q, w.groups, w.d_state), skip, held},
              "mixed");
}

TensorId delta(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  TensorId q = projected(n, r, x, w.key, Part::query, Part::query_convolution, 1.0);
  TensorId k = projected(n, r, x, w.key, Part::key, Part::key_convolution, 1.0);
  const TensorId v = projected(n, r, x, w.value, Part::value, Part::value_convolution, 1.0);
  b.set_role(in_recurrence(Part::query));
  q = unit(n, in_heads(n, q, w.groups, w.d_state), 1.0 / std::sqrt(static_cast<double>(r.d_state)));
  b.set_role(in_recurrence(Part::key));
  k = unit(n, in_heads(n, k, w.groups, w.d_state), 1.0);
  TensorId beta = apply_linear(n, x, w.heads, r.bias, in_recurrence(Part::beta));
  beta = multiplied(n, activated(n, Activation::sigmoid, beta), r.beta_scale);
  const Dim steps = r.channel_decay ? Dim(r.n_heads * r.d_state) : w.heads;
  TensorId step = x;
  if (r.step_rank > 0) step = apply_linear(n, step, r.step_rank, false, in_recurrence(Part::step_down));
  step = apply_linear(n, step, steps, r.bias, in_recurrence(Part::step));
  step = softplus(b, step, b.parameter(in_recurrence(Part::decay), Piece::bias, {steps}), limits(r), "step");
  if (r.channel_decay) step = in_heads(n, step, w.heads, w.d_state);
  const TensorId decay = b.parameter(in_recurrence(Part::decay), Piece::weight, {w.heads});
  const TensorId held = state(n, Part::state, Piece::state_cache, r.n_heads * r.d_head * r.d_state, DType::float32);
  b.set_role(in_recurrence(Part::state));
  return delta_rule(b, {q, k, in_heads(n, v, w.heads, w.d_head), step, decay, beta, held}, "mixed");
}

// Both gates are products of blocks of channels; what they are of has been through the convolution.
TensorId rg_lru(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  const TensorId v = projected(n, r, x, w.value, Part::value, Part::value_convolution, 1.0);
  const TensorId blocks = in_heads(n, v, w.heads, w.d_head);
  const auto gate = [&](Part part) {
    const TensorId weight = b.parameter(in_recurrence(part), Piece::weight, {w.heads, w.d_head, w.d_head});
    const TensorId bias = b.parameter(in_recurrence(part), Piece::bias, {w.heads, w.d_head});
    b.set_role(in_recurrence(part));
    return view(b, block_linear(b, blocks, weight, bias, "gate"), {n.batch, n.tokens, w.value});
  };
  const TensorId step = activated(n, Activation::sigmoid, gate(Part::step));
  const TensorId entering = activated(n, Activation::sigmoid, gate(Part::beta), v);
  const TensorId decay = b.parameter(in_recurrence(Part::decay), Piece::weight, {w.value});
  const TensorId held = state(n, Part::state, Piece::state_cache, w.value.size, DType::float32);
  b.set_role(in_recurrence(Part::state));
  return scan(b, ScanRule::rg_lru,
              {in_heads(n, entering, w.value, 1), step, decay, no_tensor, no_tensor, no_tensor, held}, "mixed");
}

// The slopes are no parameters, but come with the weights.
TensorId lightning(Network& n, const Recurrence& r, const RecurrentWidths& w, TensorId x) {
  Builder& b = n.builder;
  const TensorId q = projected(n, r, x, w.key, Part::query, Part::query_convolution, 1.0);
  const TensorId k = projected(n, r, x, w.key, Part::key, Part::key_convolution, 1.0);
  const TensorId v = projected(n, r, x, w.value, Part::value, Part::value_convolution, 1.0);
  const TensorId slopes =
      b.weight(TensorKind::constant, in_recurrence(Part::decay), Piece::weight, {w.heads}, DType::float32);
  const TensorId held = state(n, Part::state, Piece::state_cache, r.n_heads * r.d_head * r.d_state, DType::float32);
  b.set_role(in_recurrence(Part::state));
  return scan(b, ScanRule::lightning,
              {in_heads(n, v, w.heads, w.d_head), no_tensor, slopes, in_heads(n, k, w.groups, w.d_state),
               in_heads(n, q, w.groups, w.d_state), no_tensor, held},
              "mixed");
}

}  // namespace

TensorId convolution_state(Network& n, std::int64_t elements, Role role) {
  if (!n.cached || elements == 0) return no_tensor;
  n.builder.set_role(role);
  return n.builder.tensor(TensorKind::cache, Piece::convolution_cache, {n.batch, 1, 1, elements}, convolution_type(n));
}

TensorId convolve(Network& n, TensorId x, std::int64_t width, bool bias, Role role) {
  Builder& b = n.builder;
  const Dim channels = b.shape(x)[-1], tokens(width, Symbol::conv_width);
  const TensorId weight = b.parameter(role, Piece::weight, {channels, tokens});
  const TensorId shift = bias ? b.parameter(role, Piece::bias, {channels}) : no_tensor;
  const TensorId cache = convolution_state(n, channels.size * (width - 1), role);
  b.set_role(role);
  return short_convolution(b, x, weight, shift, cache, "convolved");
}

TensorId add_convolved(Network& n, TensorId x, std::int64_t width, Role role) {
  return width == 0 ? x : add(n.builder, x, convolve(n, x, width, false, role), "sum");
}

TensorId apply(Network& n, const Recurrence& r, TensorId x) {
  const RecurrentWidths w = recurrent_widths(n, r);
  if (r.rule == Rule::convolution) return output(n, r, convolution(n, r, w, x));
  const TensorId y = r.rule == Rule::mamba    ? mamba(n, r, w, x)
                     : r.rule == Rule::mamba2 ? mamba2(n, r, w, x)
                     : r.rule == Rule::delta  ? delta(n, r, w, x)
                     : r.rule == Rule::rg_lru ? rg_lru(n, r, w, x)
                                              : lightning(n, r, w, x);
  return output(n, r, gated(n, r, w, x, view(n.builder, y, {n.batch, n.tokens, w.value})));
}

}  // namespace reckon
