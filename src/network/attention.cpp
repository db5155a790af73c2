// Attention in its three kinds: heads of their own or shared (grouped), rebuilt from a latent, and across to an
// encoder.
#include "network/attention.h"

#include "network/adapters.h"
#include "ops/append.h"
#include "ops/convolved_heads.h"
#include "ops/activate.h"
#include "ops/elementwise.h"
#include "ops/gate.h"
#include "ops/matmul.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/view.h"

#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace reckon {
namespace attending {
namespace {

Role cross_role(Part part) { return {Block::cross_attention, part}; }

Dim width(std::int64_t size, Symbol symbol, Dim d_model) { return size == d_model.size ? d_model : Dim(size, symbol); }

}  // namespace

Widths widths(const Network& n, const Attention& a) {
  Widths w;
  w.heads = {a.n_heads, Symbol::heads};
  w.kv_heads = {a.n_kv_heads, a.n_kv_heads == a.n_heads ? Symbol::heads : Symbol::kv_heads};
  w.d_head = {a.d_head, Symbol::d_head};
  w.d_value = {a.d_value, a.d_value == a.d_head ? Symbol::d_head : Symbol::d_value};
  w.query = width(a.n_heads * a.d_head, Symbol::heads_width, n.d_model);
  w.key = a.n_kv_heads == a.n_heads ? w.query : Dim(a.n_kv_heads * a.d_head, Symbol::kv_width);
  w.value = a.d_value == a.d_head ? w.key : Dim(a.n_kv_heads * a.d_value, Symbol::value_width);
  w.mixed = a.d_value == a.d_head ? w.query : width(a.n_heads * a.d_value, Symbol::value_width, n.d_model);
  return w;
}

AttentionRule rule_of(const Attention& a) {
  const auto keep = a.dynamic_mask ? static_cast<std::int32_t>(a.dynamic_mask->keep) : 0;
  return {.mask = {.causal = true, .window = a.window, .chunked = a.chunked, .keep = keep},
          .scale = a.scale,
          .softcap = a.softcap,
          .alibi = a.alibi ? a.alibi_scale : 0.0};
}

namespace {

// The keys that new tokens can see, and so the cache has room for: a window keeps window − 1 before a chunk.
Dim visible_keys(const Network& n, std::int64_t window) {
  if (n.capacity == n.tokens.size) return n.tokens;
  return {window > 0 ? std::min(n.capacity, window - 1 + n.chunk) : n.capacity, Symbol::keys};
}

}  // namespace

TensorId remember(Network& n, TensorId fresh, std::int64_t window, Piece cache_piece, Label piece) {
  if (!n.cached) return fresh;
  Builder& b = n.builder;
  b.set_role(role(Part::cache));
  const Dim keys = visible_keys(n, window);
  const Shape shape = b.shape(fresh);
  // Single numbers do not make blocks.
  const DType dtype = cache_piece == Piece::mask_cache ? DType::float32 : b.program().workload.precision.cache;
  const TensorId cache = b.tensor(TensorKind::cache, cache_piece, {shape[0], keys, shape[2], shape[3]}, dtype);
  return append(b, fresh, cache, keys, piece);
}

TensorId heads(Network& n, TensorId x, Dim count, Dim each) {
  return view(n.builder, x, {n.batch, n.builder.shape(x)[1], count, each});
}

TensorId rotate(Network& n, const std::optional<Rope>& rope_rule, TensorId x, Label label) {
  if (!rope_rule) return x;
  n.builder.set_role(role(Part::rope));
  return rope(n.builder, x, n.rope_table(*rope_rule), rope_rule->interleaved, label, rope_rule->trailing);
}

TensorId scale_queries(Network& n, const Attention& a, TensorId q) {
  if (!a.position_scale) return q;
  n.builder.set_role(role(Part::query));
  return scale_by_position(n.builder, q, n.position_table(*a.position_scale), "scaled_query");
}

namespace {

TensorId clipped(Network& n, const Attention& a, TensorId x) {
  return a.clip > 0.0 ? clip(n.builder, x, a.clip, "clipped") : x;
}

// A norm on queries or keys: over each head (one weight for all, or one each), or over all heads together.
TensorId norm_heads(Network& n, const Attention& a, TensorId x, Dim count, Part part) {
  if (!a.query_key_norm) return x;
  const Dim width = n.builder.shape(x)[-1];
  const bool own = a.norm_span == Attention::NormSpan::own_head;
  return apply_norm(n, *a.query_key_norm, x, role(part), own ? Shape{count, width} : Shape{width});
}

// What is dropped of attention's weights. A layer draws it from a stream of its own for each of its attentions, apart
// from those of the sublayers, which are counted from 1 on.
TensorId drop_weights(Network& n, TensorId weights, Block block) {
  Builder& b = n.builder;
  const Workload& workload = b.program().workload;
  const bool drops = workload.phase == Phase::train && workload.attention_dropout > 0.0;
  if (!drops || block == Block::cross_attention) return weights;  // which is counted, never trained
  return dropout(b, weights, workload.attention_dropout, -1 - b[weights].scope.nth, "dropped_weights");
}

}  // namespace

TensorId attend(Network& n, TensorId query, TensorId key, TensorId value, TensorId sinks, const AttentionRule& rule,
                Block block, TensorId added) {
  Builder& b = n.builder;
  b.set_role({block, Part::scores});
  const TensorId s = scores(b, query, key, rule, "scores");  // (B × H × T × S)
  b.set_role({block, Part::softmax});
  const TensorId p = drop_weights(n, softmax(b, s, sinks, rule, "weights", added), block);
  b.set_role({block, Part::mixing});
  return mix(b, p, value, rule, "mixed");  // (B × T × H × dᵥ)
}

namespace {

// A projection with an adapter of the layer's own beside it.
TensorId adapted(Network& n, TensorId x, TensorId y, std::int64_t rank, Part part) {
  if (rank == 0) return y;
  Builder& b = n.builder;
  b.set_role(role(part));
  const TensorId down = b.parameter(role(part), Piece::adapter_a, {rank, b.shape(x)[-1]});
  const TensorId up = b.parameter(role(part), Piece::adapter_b, {b.shape(y)[-1], rank});
  return add(b, y, linear(b, linear(b, x, down, no_tensor, "low_rank"), up, no_tensor, "adapted"), "out");
}

}  // namespace

TensorId project_output(Network& n, const Attention& a, const Widths& w, TensorId x, TensorId y) {
  Builder& b = n.builder;
  if (a.gate && a.gate->per_head) {
    const TensorId gate = apply_linear(n, x, w.heads, a.gate->bias, role(Part::gate));
    b.set_role(role(Part::gate));
    y = gate_rows(b, y, gate, a.gate->activation, "gated");
  }
  y = view(b, y, {n.batch, n.tokens, w.mixed});
  if (a.gate && !a.gate->per_head) {
    const TensorId gate = apply_linear(n, x, w.mixed, a.gate->bias, role(Part::gate));
    b.set_role(role(Part::gate));
    y = activate(b, {.activation = a.gate->activation, .gated = true}, gate, y, "gated");
  }
  return apply_linear(n, y, n.d_model, a.output_bias, role(Part::output));
}

}  // namespace attending

using namespace attending;

TensorId apply(Network& n, const Attention& a, TensorId x) {
  if (a.latent) return latent_attention(n, a, x);
  if (a.shared_key) return shared_key_attention(n, a, x);
  Builder& b = n.builder;
  const Widths w = widths(n, a);
  const bool own = a.kv_from == 0;  // keys and values
  Routing routing;
  TensorId q = a.routed ? routed_queries(n, a, w, x, routing)
                        : apply_linear(n, x, w.query, a.query_bias, role(Part::query));  // (B × T × H·dₕ)
  q = adapted(n, x, q, a.adapter_rank, Part::query);
  TensorId k = no_tensor, v = no_tensor;
  if (own) {
    k = apply_linear(n, x, w.key, a.key_bias, role(Part::key));  // (B × T × K·dₕ)
    v = a.values_from_keys ? k
        : a.convolved      ? half_before(n, a, w, x)
                           : apply_linear(n, x, w.value, a.value_bias, role(Part::value));
    k = adapted(n, x, k, a.adapter_rank, Part::key);
    if (!a.values_from_keys) v = adapted(n, x, v, a.adapter_rank, Part::value);
    k = add_convolved(n, k, a.conv_width, role(Part::key_convolution));
    v = add_convolved(n, v, a.conv_width, role(Part::value_convolution));
  }

  const bool norm_all = a.norm_span == Attention::NormSpan::all_heads;
  if (norm_all) {
    q = norm_heads(n, a, q, w.heads, Part::query_norm);
    if (own) k = norm_heads(n, a, k, w.kv_heads, Part::key_norm);
  }
  q = clipped(n, a, q);
  if (own) {
    k = clipped(n, a, k);
    v = clipped(n, a, v);
    if (a.value_scale != 1.0) v = scale(b, v, a.value_scale, "scaled_value");
  }
  const TensorId shifts = own && a.dynamic_mask ? shifts_of(n, a, w, v) : no_tensor;
  if (!a.routed) q = heads(n, q, w.heads, w.d_head);  // (B × T × H × dₕ)
  if (own) {
    k = heads(n, k, w.kv_heads, w.d_head);
    // Two key heads share a value of twice the width where their difference is taken.
    v = a.difference ? heads(n, v, a.n_kv_heads / 2, 2 * a.d_value) : heads(n, v, w.kv_heads, w.d_value);
    if (a.value_norm) v = apply_norm(n, *a.value_norm, v, role(Part::value_norm));
  }
  if (a.convolved) {
    const auto whole = [&](TensorId y, Dim all) { return view(b, y, {n.batch, n.tokens, all}); };
    b.set_role(role(Part::query));
    const auto [query_mean, key_mean] = average_heads(b, q, k);
    q = convolve_heads(n, *a.convolved, whole(q, w.query), w.heads, w.d_head, Part::query_convolution,
                       Part::query_heads_convolution);
    q = add(b, q, query_mean, "query");
    k = convolve_heads(n, *a.convolved, whole(k, w.key), w.kv_heads, w.d_head, Part::key_convolution,
                       Part::key_heads_convolution);
    k = add(b, k, key_mean, "key");
  }
  const auto norm_each = [&] {
    q = norm_heads(n, a, q, w.heads, Part::query_norm);
    if (own) k = norm_heads(n, a, k, w.kv_heads, Part::key_norm);
    if (!a.key_scale) return;
    const TensorId factors = b.parameter(role(Part::key_scale), Piece::weight, {w.kv_heads});
    b.set_role(role(Part::key_scale));
    k = scale_heads(b, k, factors, "scaled_key");
  };
  if (!norm_all && !a.norm_after_rope) norm_each();
  q = rotate(n, a.rope, q, "rotated_query");
  if (own) k = rotate(n, a.rope, k, "rotated_key");
  if (!norm_all && a.norm_after_rope) norm_each();
  q = scale_queries(n, a, q);
  const TensorId choice = a.indexer ? choose(n, a, x, x) : no_tensor;
  if (own) {
    k = remember(n, k, a.window, Piece::key_cache, Piece::keys);  // (B × S × K × dₕ)
    v = remember(n, v, a.window, Piece::value_cache, Piece::values);
    n.keys_values[n.layer] = {k, v};
  } else {
    std::tie(k, v) = n.keys_values.at(n.layer - static_cast<std::size_t>(a.kv_from));
  }
  if (a.indexer) return project_output(n, a, w, x, attend_to(n, a, q, k, v, choice));
  const TensorId added = a.relative ? by_distance(n, a, x) : shifts;
  const TensorId sinks = a.sinks ? b.parameter(role(Part::sinks), Piece::weight, {w.heads}) : no_tensor;
  TensorId y = attend(n, q, k, v, sinks, rule_of(a), Block::attention, added);
  if (a.difference) y = subtract_heads(n, a, y);
  return a.routed ? routed_output(n, a, routing, y) : project_output(n, a, w, x, y);
}

TensorId apply(Network& n, const CrossAttention& cross, TensorId x) {
  Builder& b = n.builder;
  const Dim count(cross.n_heads, Symbol::heads), each(cross.d_head, Symbol::d_head);
  const Dim all = width(cross.n_heads * cross.d_head, Symbol::heads_width, n.d_model);
  const TensorId q = heads(n, apply_linear(n, x, all, cross.bias, cross_role(Part::query)), count, each);
  // The encoder's keys and values are computed once, and only read when decoding.
  TensorId k, v;
  const Shape shape{n.batch, n.encoder_tokens, count, each};
  const auto cache = [&](Piece piece) {
    b.set_role(cross_role(Part::cache));
    return b.tensor(TensorKind::cache, piece, shape, b.program().workload.precision.cache);
  };
  if (n.decode) {
    // The parameters are there all the same.
    for (Part part : {Part::key, Part::value}) {
      b.parameter(cross_role(part), Piece::weight, {all, n.d_model});
      if (cross.bias) b.parameter(cross_role(part), Piece::bias, {all});
      adapter(n, cross_role(part), all, n.d_model);
    }
    k = cache(Piece::key_cache);
    v = cache(Piece::value_cache);
  } else {
    k = heads(n, apply_linear(n, n.encoder, all, cross.bias, cross_role(Part::key)), count, each);
    v = heads(n, apply_linear(n, n.encoder, all, cross.bias, cross_role(Part::value)), count, each);
    if (n.cached) {
      k = append(b, k, cache(Piece::key_cache), n.encoder_tokens, Piece::keys);
      v = append(b, v, cache(Piece::value_cache), n.encoder_tokens, Piece::values);
    }
  }
  const AttentionRule rule{.mask = {.causal = false}, .scale = cross.scale};
  const TensorId y = attend(n, q, k, v, no_tensor, rule, Block::cross_attention);
  return apply_linear(n, view(b, y, {n.batch, n.tokens, all}), n.d_model, cross.bias, cross_role(Part::output));
}

}  // namespace reckon
