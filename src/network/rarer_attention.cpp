// The parts of attention that only rarer families have.
#include "network/attention.h"

#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "network/adapters.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/convolved_heads.h"
#include "ops/difference.h"
#include "ops/elementwise.h"
#include "ops/entries.h"
#include "ops/exponential.h"
#include "ops/head_matmul.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/routed_heads.h"
#include "ops/softplus.h"
#include "ops/view.h"

namespace reckon::attending {
namespace {

TensorId expert_linear(Network& n, const Routing& routing, TensorId rows, Dim out, Part part) {
  const Role at{Block::attention, part, Expert::routed};
  n.builder.set_role(at);
  const TensorId weight = n.builder.parameter(at, Piece::weight, {routing.experts, out, n.builder.shape(rows)[-1]});
  return grouped_linear(n.builder, rows, weight, no_tensor, routing.offsets, "out");
}

// Where entries of several tokens come from.
struct EntryParts {
  Part given, gate, position, norm;
  Piece cache, all;
};

// Entries (B × E × 1 × m) of so many tokens each; no_tensor where there is room for none.
TensorId entries_of(Network& n, const Attention& a, TensorId x, Dim each, const EntryParts& parts) {
  Builder& b = n.builder;
  const SharedKey& shared = *a.shared_key;
  const EntriesAttributes rule{shared.rate, shared.overlaps, shared.norm.epsilon};
  const std::int64_t width = (shared.overlaps ? 2 : 1) * each.size;
  const TensorId given = apply_linear(n, x, width, false, role(parts.given));
  const TensorId gate = apply_linear(n, x, width, false, role(parts.gate));
  const TensorId position = b.parameter(role(parts.position), Piece::bias, {shared.rate, width});
  const TensorId norm = b.parameter(role(parts.norm), Piece::weight, {each});
  // A text that is shorter than an entry keeps its tokens all the same: it may grow.
  const Dim count(n.cached ? std::max<std::int64_t>(1, n.capacity / shared.rate) : n.tokens.size / shared.rate);
  if (count.size == 0) return no_tensor;
  TensorId cache = no_tensor;
  if (n.cached) {
    b.set_role(role(Part::cache));
    cache = b.tensor(TensorKind::cache, parts.cache, {n.batch, count, 1, each}, b.program().workload.precision.cache);
    b.program().tensors[static_cast<std::size_t>(cache)].every = shared.rate;
  }
  const TensorId state = convolution_state(n, rule.before() * 2 * width, role(parts.given));
  b.set_role(role(parts.given));
  return entries(b, {given, gate, position, norm, n.rope_table(*a.rope), state, cache}, rule, parts.all);
}

}  // namespace

TensorId subtract_heads(Network& n, const Attention& a, TensorId y) {
  Builder& b = n.builder;
  const Role at = role(Part::difference);
  b.set_role(at);
  const TensorId vectors = b.parameter(at, Piece::weight, {4, {a.d_head, Symbol::d_head}});
  y = difference(b, y, vectors, {a.difference->initial, a.n_heads / a.n_kv_heads}, "difference");
  y = apply_norm(n, a.difference->norm, y, at);
  return scale(b, y, 1.0 - a.difference->initial, "scaled");
}

TensorId shifts_of(Network& n, const Attention& a, const Widths& w, TensorId v) {
  Builder& b = n.builder;
  TensorId x = apply_linear(n, v, w.kv_heads, a.dynamic_mask->bias, role(Part::mask));
  x = softplus(b, x, no_tensor, {}, "step");
  x = exponential(b, x, b.parameter(role(Part::decay), Piece::weight, {w.kv_heads}), "shift");
  return remember(n, heads(n, x, w.kv_heads, 1), a.window, Piece::mask_cache, "shifts");
}

TensorId routed_queries(Network& n, const Attention& a, const Widths& w, TensorId x, Routing& routing) {
  Builder& b = n.builder;
  routing.experts = {a.routed->n_experts, Symbol::experts};
  const TensorId logits = apply_linear(n, x, routing.experts, false, role(Part::router));
  Mixture rule;
  rule.n_experts = a.routed->n_experts;
  rule.n_active = a.routed->n_active;
  rule.scores = Mixture::Scores::softmax_of_chosen;
  const auto [choice, weights] = route(b, rule, logits, no_tensor);
  b.set_role(role(Part::dispatch));
  const Dispatched dispatched = dispatch(b, x, choice, routing.experts);
  routing.weights = weights;
  routing.order = dispatched.order;
  routing.offsets = dispatched.offsets;
  const TensorId rows = expert_linear(n, routing, dispatched.rows, w.key, Part::query);  // (B × T × k × K·dₕ)
  return gather_heads(b, rows, routing.order, w.kv_heads, "query");                      // (B × T × K·k × dₕ)
}

TensorId routed_output(Network& n, const Attention& a, const Routing& routing, TensorId y) {
  Builder& b = n.builder;
  b.set_role({Block::attention, Part::output, Expert::routed});
  TensorId rows = scatter_heads(b, y, routing.order, "rows");
  rows = expert_linear(n, routing, rows, n.d_model, Part::output);
  b.set_role(role(Part::combine));
  y = combine(b, rows, routing.weights, routing.order, "combined");
  if (!a.output_bias) return y;
  return add(b, y, b.parameter(role(Part::combine), Piece::bias, {n.d_model}), "shifted");
}

TensorId choose(Network& n, const Attention& a, TensorId x, TensorId latent) {
  Builder& b = n.builder;
  const Indexer& indexer = *a.indexer;
  TensorId& own = n.choices[n.layer];
  if (indexer.from > 0) return own = n.choices[n.layer - static_cast<std::size_t>(indexer.from)];
  const Dim count(indexer.n_heads), each(indexer.d_head);
  TensorId q = apply_linear(n, latent, indexer.n_heads * indexer.d_head, false, role(Part::index_query));
  q = heads(n, q, count, each);
  if (indexer.query_norm) q = apply_norm(n, *indexer.query_norm, q, role(Part::index_query_norm));
  TensorId k = apply_linear(n, x, each, false, role(Part::index_key));
  k = heads(n, apply_norm(n, indexer.key_norm, k, role(Part::index_key_norm)), 1, each);
  if (a.rope) {
    const TensorId table = n.rope_table(*a.rope);
    b.set_role(role(Part::index_query));
    q = rope(b, q, table, indexer.interleaved, "rotated_query");
    b.set_role(role(Part::index_key));
    k = rope(b, k, table, indexer.interleaved, "rotated_key");
  }
  k = remember(n, k, 0, Piece::index_cache, Piece::index_keys);
  TensorId weights = no_tensor;
  if (indexer.summed) {  // which take the scale of the scores in
    weights = apply_linear(n, x, count, false, role(Part::index_weight));
    weights = scale(b, weights, 1.0 / std::sqrt(static_cast<double>(indexer.n_heads * indexer.d_head)), "scaled");
  }
  b.set_role(role(Part::choice));
  return own = choose_keys(b, q, k, weights, indexer.top, {indexer.block, indexer.local});
}

TensorId attend_to(Network& n, const Attention& a, TensorId query, TensorId key, TensorId value, TensorId choice) {
  Builder& b = n.builder;
  const Workload& workload = b.program().workload;
  if (workload.phase == Phase::train && workload.attention_dropout > 0.0)
    throw UsageError("`attention_dropout` is given, but keys are chosen by an indexer; expected 0");
  b.set_role(role(Part::scores));
  return attend_chosen(b, query, key, value, choice, {a.indexer->block, a.scale}, "mixed");
}

TensorId latent_attention(Network& n, const Attention& a, TensorId x) {
  Builder& b = n.builder;
  const Latent& latent = *a.latent;
  const Widths w = widths(n, a);
  const Dim d_nope(latent.d_nope, Symbol::d_nope), d_rope(latent.d_rope, Symbol::d_rope);
  const Dim kv_rank(latent.kv_rank, Symbol::kv_rank);
  const Dim query_width(a.n_heads * a.d_head, Symbol::latent_query);
  const Dim down_width(latent.kv_rank + latent.d_rope, Symbol::latent_kv_down);
  const Dim up_width(a.n_heads * (latent.d_nope + a.d_value), Symbol::latent_kv_up);
  const AttentionRule rule = rule_of(a);

  TensorId q, query_latent = x, gate_reads = x;
  if (latent.query_rank > 0) {
    const Dim query_rank(latent.query_rank, Symbol::query_rank);
    const TensorId raw = apply_linear(n, x, query_rank, latent.down_bias, role(Part::query_down));
    q = query_latent = apply_norm(n, latent.norm, raw, role(Part::query_down_norm));
    if (latent.raw_too) {
      const Dim both(2 * latent.query_rank);
      q = join(b, heads(n, q, 1, query_rank), heads(n, raw, 1, query_rank), both, Piece::query);
      q = gate_reads = view(b, q, {n.batch, n.tokens, both});
    }
    q = apply_linear(n, q, query_width, false, role(Part::query_up));
  } else {
    q = apply_linear(n, x, query_width, a.query_bias, role(Part::query));
  }
  q = scale_queries(n, a, heads(n, q, w.heads, w.d_head));
  auto [q_nope, q_rope] = split(b, q, d_nope, d_rope, Piece::query_nope, Piece::query_rope);
  q_rope = rotate(n, a.rope, q_rope, "rotated_query");

  const TensorId down = apply_linear(n, x, down_width, latent.down_bias, role(Part::kv_down));
  auto [c, k_rope] = split(b, heads(n, down, 1, down_width), kv_rank, d_rope, Piece::latent, Piece::key_rope);
  c = apply_norm(n, latent.norm, c, role(Part::kv_down_norm));  // (B × T × 1 × r_kv)
  if (latent.kv_scale != 1.0) c = scale(b, c, latent.kv_scale, "scaled");
  k_rope = rotate(n, a.rope, k_rope, "rotated_key");  // (B × T × 1 × dᵣ)

  const TensorId choice = a.indexer ? choose(n, a, x, query_latent) : no_tensor;
  b.set_role(role(Part::cache));
  TensorId held = no_tensor;  // (B × S × 1 × r_kv+dᵣ)
  if (n.cached)
    held = remember(n, join(b, c, k_rope, down_width, Piece::latent), a.window, Piece::latent_cache, Piece::latents);
  const TensorId up = b.parameter(role(Part::kv_up), Piece::weight, {up_width, kv_rank});
  const Adapter adapted = adapter(n, role(Part::kv_up), up_width, kv_rank);

  TensorId y;
  if (n.decode) {
    b.set_role(role(Part::kv_up));
    TensorId folded = head_matmul(b, q_nope, up, 0, d_nope, true, Piece::folded_query);  // (B × T × H × r_kv)
    if (adapted.a != no_tensor) {  // (q·B)·A, with the rows of B that are this head's
      const TensorId low = head_matmul(b, q_nope, adapted.b, 0, d_nope, true, "low_rank");
      const TensorId wide = b.compute("adapted", b.shape(folded), matmul_operation, {low, adapted.a, no_tensor}, {});
      folded = add_scaled(n, folded, wide);
    }
    const TensorId query = join(b, folded, q_rope, down_width, Piece::folded_query);
    b.set_role(role(Part::cache));
    const TensorId values = split(b, held, kv_rank, d_rope, Piece::latents, Piece::keys_rope).first;
    y = a.indexer ? attend_to(n, a, query, held, values, choice)
                  : attend(n, query, held, values, no_tensor, rule);  // (B × T × H × r_kv)
    b.set_role(role(Part::kv_up));
    const TensorId mixed = y;
    y = head_matmul(b, mixed, up, latent.d_nope, w.d_value, false, Piece::values);
    if (adapted.a != no_tensor) {  // (y·Aᵀ)·Bᵀ
      const TensorId low = linear(b, mixed, adapted.a, no_tensor, "low_rank");
      y = add_scaled(n, y, head_matmul(b, low, adapted.b, latent.d_nope, w.d_value, false, "adapted"));
    }
  } else {
    b.set_role(role(Part::cache));
    if (n.cached) std::tie(c, k_rope) = split(b, held, kv_rank, d_rope, Piece::latents, Piece::keys_rope);
    b.set_role(role(Part::kv_up));
    TensorId kv = linear(b, c, up, no_tensor, "keys_and_values");  // (B × S × 1 × H·(dₙ+dᵥ))
    kv = add_adapter(n, adapted, c, kv);
    const Dim both(latent.d_nope + a.d_value);
    kv = heads(n, kv, w.heads, both);
    const auto [k_nope, v] = split(b, kv, d_nope, w.d_value, Piece::keys_nope, Piece::values);
    const TensorId k = join(b, k_nope, k_rope, w.d_head, Piece::keys);
    const TensorId query = join(b, q_nope, q_rope, w.d_head, Piece::query);
    y = a.indexer ? attend_to(n, a, query, k, v, choice) : attend(n, query, k, v, no_tensor, rule);
  }
  return project_output(n, a, w, gate_reads, y);
}

TensorId by_distance(Network& n, const Attention& a, TensorId x) {
  Builder& b = n.builder;
  const Dim count(a.n_heads, Symbol::heads);
  TensorId made = apply_linear(n, x, a.n_heads * a.relative->rank, false, role(Part::relative));
  made = heads(n, made, count, a.relative->rank);
  const TensorId profiles = b.parameter(role(Part::profile), Piece::weight, {a.relative->extent, a.relative->rank});
  b.set_role(role(Part::profile));
  made = linear(b, made, profiles, no_tensor, "by_distance");
  return a.position_scale ? scale_by_position(b, made, n.position_table(*a.position_scale), "scaled") : made;
}

TensorId shared_key_attention(Network& n, const Attention& a, TensorId x) {
  Builder& b = n.builder;
  const SharedKey& shared = *a.shared_key;
  const Widths w = widths(n, a);
  const Norm plain{Norm::Kind::rms, shared.norm.epsilon, false, false, false};
  TensorId latent = apply_linear(n, x, {shared.query_rank, Symbol::query_rank}, false, role(Part::query_down));
  latent = apply_norm(n, shared.norm, latent, role(Part::query_down_norm));
  TensorId q = heads(n, apply_linear(n, latent, w.query, false, role(Part::query_up)), w.heads, w.d_head);
  q = rotate(n, a.rope, apply_norm(n, plain, q, role(Part::query_norm)), "rotated_query");
  TensorId k = apply_norm(n, shared.norm, apply_linear(n, x, w.d_head, false, role(Part::key)), role(Part::key_norm));
  k = rotate(n, a.rope, heads(n, k, 1, w.d_head), "rotated_key");
  TensorId choice = no_tensor, all = no_tensor;
  if (shared.rate > 0)
    all = entries_of(
        n, a, x, w.d_head,
        {Part::entry, Part::entry_gate, Part::entry_position, Part::entry_norm, Piece::entry_cache, Piece::entries});
  if (a.indexer) {
    const Indexer& indexer = *a.indexer;
    const Dim count(indexer.n_heads), each(indexer.d_head);
    TensorId query = apply_linear(n, latent, indexer.n_heads * indexer.d_head, false, role(Part::index_query));
    query = heads(n, query, count, each);
    b.set_role(role(Part::rope));
    query = rope(b, query, n.rope_table(*a.rope), a.rope->interleaved, "rotated_query", a.rope->trailing);
    const TensorId keys = entries_of(n, a, x, each,
                                     {Part::index_entry, Part::index_entry_gate, Part::index_entry_position,
                                      Part::index_entry_norm, Piece::index_cache, Piece::index_keys});
    TensorId weights = apply_linear(n, x, count, false, role(Part::index_weight));
    weights = scale(b, weights, 1.0 / std::sqrt(static_cast<double>(indexer.n_heads * indexer.d_head)), "scaled");
    b.set_role(role(Part::choice));
    if (keys != no_tensor) choice = choose_keys(b, query, keys, weights, indexer.top, {.every = shared.rate});
  }
  k = remember(n, k, a.window, Piece::key_cache, Piece::keys);
  const TensorId sinks = b.parameter(role(Part::sinks), Piece::weight, {w.heads});
  b.set_role(role(Part::scores));
  TensorId y = attend_entries(b, q, k, all, choice, sinks, {a.window, shared.rate, a.scale}, "mixed");
  b.set_role(role(Part::rope));
  y = rope(b, y, n.rope_table(*a.rope), a.rope->interleaved, "mixed", a.rope->trailing, true);
  const Dim groups(shared.output_groups), rank(shared.output_rank), read(w.mixed.size / shared.output_groups);
  const Role down = role(Part::output_down);
  const TensorId weight = b.parameter(down, Piece::weight, {groups, rank, read});
  b.set_role(down);
  y = block_linear(b, heads(n, y, groups, read), weight, no_tensor, "out");
  y = view(b, y, {n.batch, n.tokens, groups.size * rank.size});
  return apply_linear(n, y, n.d_model, false, role(Part::output));
}

TensorId convolve_heads(Network& n, const ConvolvedHeads& c, TensorId x, Dim count, Dim each, Part channels,
                        Part of_heads) {
  Builder& b = n.builder;
  const Dim all = b.shape(x)[-1];
  const TensorId y = heads(n, convolve(n, x, c.channel_width, false, role(channels)), count, each);
  const TensorId shift = b.parameter(role(channels), Piece::bias, {all});
  const Role at = role(of_heads);
  const TensorId weight = b.parameter(at, Piece::weight, {all, each, c.head_width});
  const TensorId bias = b.parameter(at, Piece::bias, {all});
  const TensorId cache = convolution_state(n, all.size * (c.head_width - 1), at);
  b.set_role(at);
  return head_convolution(b, y, weight, shift, bias, cache, "convolved");
}

TensorId half_before(Network& n, const Attention& a, const Widths& w, TensorId x) {
  Builder& b = n.builder;
  const Dim half(w.value.size / 2);
  const Role before = role(Part::value_before);
  const TensorId now = apply_linear(n, x, half, a.value_bias, role(Part::value));
  TensorId v = apply_linear(n, x, half, false, before);
  const TensorId bias = a.value_bias ? b.parameter(before, Piece::bias, {half}) : no_tensor;
  const TensorId cache = convolution_state(n, half.size, before);
  b.set_role(before);
  v = delay(b, v, cache, "value_before");
  if (a.value_bias) v = add(b, v, bias, "value_before");
  v = join(b, heads(n, now, 1, half), heads(n, v, 1, half), w.value, Piece::values);
  return view(b, v, {n.batch, n.tokens, w.value});
}

}  // namespace reckon::attending
