// Where tensors are that only rarer families have.
#include "model/stored_writer.h"

namespace reckon::stored {

void Writer::adapters(const Sublayer& sublayer, std::int64_t n) {
  std::int64_t number = 0;  // of the layers before that have some
  const auto has_some = [](const FeedForward* f) { return f != nullptr && f->adapter_rank > 0; };
  const auto pair = [&](std::string_view name, std::int64_t rank, std::int64_t columns,
                        const std::vector<Share>& parts) {
    const std::string module = in_layer(name);
    require_name(module, scope_of(parts.front().role));
    const std::string stored = numbered(module, number), wide = stored + ".1.weight";
    exact(key_of(parts.front().role, Piece::adapter_a), stored + ".0.weight", {rank, columns});
    const Linear up{parts, rank};
    Placed placed = place(up, wide, false, 0);
    for (std::size_t p = 0; p < parts.size(); ++p)
      layout_.parameters.push_back(
          {key_of(parts[p].role, Piece::adapter_b), {parts[p].rows, rank}, {std::move(placed.views[p])}});
    add_tensor(wide, std::move(placed.shape));
  };
  for (std::int64_t i = 0; i < n; ++i) number += has_some(feed_forward_of(model_.layers[static_cast<std::size_t>(i)]));
  if (const auto* a = std::get_if<Attention>(&sublayer.kind); a != nullptr && a->adapter_rank > 0) {
    const auto role = [](Part part) { return Role{Block::attention, part}; };
    pair(names_.query_adapter, a->adapter_rank, columns_, {{role(Part::query), times(a->n_heads, a->d_head), false}});
    pair(names_.key_adapter, a->adapter_rank, columns_, {{role(Part::key), times(a->n_kv_heads, a->d_head), false}});
    pair(names_.value_adapter, a->adapter_rank, columns_,
         {{role(Part::value), times(a->n_kv_heads, a->d_value), false}});
  }
  if (const auto* f = std::get_if<FeedForward>(&sublayer.kind); has_some(f)) {
    std::vector<Share> parts{{{Block::feed_forward, Part::up}, f->d_ff, false}};
    if (f->gated) parts.insert(parts.begin(), Share{{Block::feed_forward, Part::gate}, f->d_ff, false});
    pair(names_.feed_forward_adapter, f->adapter_rank, model_.d_model, parts);
  }
}

void Writer::layer_inputs(const LayerInputs& inputs) {
  const StreamNames& names = names_.streams;
  const auto role = [](Part part) { return Role{Block::layer_input, part}; };
  const std::int64_t all = times(static_cast<std::int64_t>(model_.layers.size()), inputs.d);
  plain(role(Part::token), body(names.table), {inputs.vocab_size, all});
  linear({{{role(Part::project), all, false}}, model_.d_model}, body(names.project));
  norm(inputs.norm, role(Part::norm), body(names.norm), {inputs.d});
}

void Writer::add_kind(const LayerInput& input) {
  const auto role = [](Part part) { return Role{Block::layer_input, part}; };
  linear({{{role(Part::gate), input.d, false}}, model_.d_model}, in_layer(names_.streams.gate));
  linear({{{role(Part::output), model_.d_model, false}}, input.d}, in_layer(names_.streams.output));
}

void Writer::stream_projections(const AltUp& altup) {
  for (std::int64_t i = 0; i + 1 < altup.streams; ++i) {
    nth_ = static_cast<std::int32_t>(i);
    for (const auto& [part, name] :
         {std::pair{Part::project, names_.streams.into}, std::pair{Part::output, names_.streams.out_of}})
      linear({{{{Block::streams, part}, model_.d_model, false}}, model_.d_model}, body(numbered(name, i)));
  }
  nth_ = 0;
}

void Writer::streams(const AltUp& altup) {
  const StreamNames& names = names_.streams;
  const std::int64_t n = altup.streams;
  const auto matrix = [&](Part part, std::int64_t rows, std::int64_t columns, std::string_view name) {
    linear({{{{Block::streams, part}, rows, false}}, columns}, in_layer(name));
  };
  norm(altup.norm, {Block::streams, Part::norm}, in_layer(names.router_norm), {model_.d_model});
  matrix(Part::router, n, model_.d_model, names.router);
  matrix(Part::predict, times(n, n), n, names.predict);
  matrix(Part::correct, n, n, names.correct);
  exact(key_of({Block::streams, Part::stream_scale}, Piece::weight), in_layer(names.scale), {model_.d_model});
}

void Writer::laurel(const Laurel& laurel) {
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  linear({{{role(Part::laurel_down), laurel.rank, false}}, model_.d_model}, in_layer(names_.streams.laurel_down));
  linear({{{role(Part::laurel_up), model_.d_model, false}}, laurel.rank}, in_layer(names_.streams.laurel_up));
  norm(laurel.norm, role(Part::laurel_norm), in_layer(names_.streams.laurel_norm), {model_.d_model});
}

void Writer::hyper(Block block, const std::string& before, std::int64_t width, std::int64_t scales) {
  const Role role{block, Part::hyper};
  exact(key_of(role, Piece::weight), before + "fn", {width, times(model_.hyper->streams, model_.d_model)});
  exact(key_of(role, Piece::bias), before + "base", {width});
  exact(key_of({block, Part::hyper_scale}, Piece::weight), before + "scale", {scales});
}

void Writer::entries(const SharedKey& shared, std::int64_t each, std::string_view name, Part given, Part gate,
                     Part position, Part norm_part) {
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  const std::string before = in_layer(name);
  const std::int64_t width = times(shared.overlaps ? 2 : 1, each);
  linear({{{role(given), width, false}}, model_.d_model}, before + "wkv");
  linear({{{role(gate), width, false}}, model_.d_model}, before + "wgate");
  exact(key_of(role(position), Piece::bias), before + "ape", {shared.rate, width});
  norm(shared.norm, role(norm_part), before + "norm", {each});
}

void Writer::shared_key_attention(const Attention& a) {
  const SharedKey& shared = *a.shared_key;
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  const std::int64_t all = times(a.n_heads, a.d_head), rank = times(shared.output_groups, shared.output_rank);
  linear({{{role(Part::query_down), shared.query_rank, false}}, model_.d_model}, in_layer(names_.query_down));
  norm(shared.norm, role(Part::query_down_norm), in_layer(names_.query_down_norm), {shared.query_rank});
  linear({{{role(Part::query_up), all, false}}, shared.query_rank}, in_layer(names_.query_up));
  linear({{{role(Part::key), a.d_head, false}}, model_.d_model}, in_layer(names_.key));
  norm(shared.norm, role(Part::key_norm), in_layer(names_.key_norm), {a.d_head});
  exact(key_of(role(Part::sinks), Piece::weight), in_layer(names_.sinks), {a.n_heads});
  // Matrices of groups lie one behind another.
  const std::string down = in_layer(names_.shared_key.output_down);
  exact(key_of(role(Part::output_down), Piece::weight), down + ".weight",
        {shared.output_groups, shared.output_rank, all / shared.output_groups});
  reshape({rank, all / shared.output_groups});
  linear({{{role(Part::output), model_.d_model, false}}, rank}, in_layer(names_.output));
  if (shared.rate > 0)
    entries(shared, a.d_head, names_.shared_key.entries, Part::entry, Part::entry_gate, Part::entry_position,
            Part::entry_norm);
  if (!a.indexer) return;
  const Indexer& i = *a.indexer;
  entries(shared, i.d_head, names_.shared_key.index_entries, Part::index_entry, Part::index_entry_gate,
          Part::index_entry_position, Part::index_entry_norm);
  linear({{{role(Part::index_query), times(i.n_heads, i.d_head), false}}, shared.query_rank},
         in_layer(names_.indexer.query));
  linear({{{role(Part::index_weight), i.n_heads, false}}, model_.d_model}, in_layer(names_.indexer.weight));
}

void Writer::convolved(const Attention& a) {
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  const ConvolvedHeads& widths = *a.convolved;
  const std::int64_t query = times(a.n_heads, a.d_head), all = plus(query, times(a.n_kv_heads, a.d_head));
  linear({{{role(Part::value_before), times(a.n_kv_heads, a.d_value) / 2, a.value_bias}}, columns_},
         in_layer(names_.convolved.value_before));
  const auto both = [&](std::string_view name, Part of_query, Part of_key, std::vector<std::int64_t> each) {
    const std::string module = in_layer(name);
    require_name(module, scope_of(role(of_query)));
    std::int64_t row = 1;
    for (const std::int64_t extent : each) row = times(row, extent);
    for (const bool keys : {false, true}) {
      const std::int64_t first = keys ? query : 0, rows = keys ? all - query : query;
      const Role at = role(keys ? of_key : of_query);
      StoredParameter weight{
          key_of(at, Piece::weight), {rows}, {{module + ".weight", times(first, row), {{rows, row}}}}};
      std::int64_t stride = row;
      for (const std::int64_t extent : each) {
        stride /= extent;
        weight.shape.push_back(extent);
        weight.views.front().axes.push_back({extent, stride});
      }
      layout_.parameters.push_back(std::move(weight));
      layout_.parameters.push_back({key_of(at, Piece::bias), {rows}, {{module + ".bias", first, {{rows, 1}}}}});
    }
    each.insert(each.begin(), all);
    if (each.size() == 2) each.insert(each.begin() + 1, 1);
    add_tensor(module + ".weight", each);
    add_tensor(module + ".bias", {all});
  };
  both(names_.convolved.channels, Part::query_convolution, Part::key_convolution, {widths.channel_width});
  both(names_.convolved.heads, Part::query_heads_convolution, Part::key_heads_convolution,
       {a.d_head, widths.head_width});
}

void Writer::affine(Role role, const std::string& before, const std::string& of) {
  exact(key_of(role, Piece::weight), before + of + "_scale", {model_.d_model});
  exact(key_of(role, Piece::bias), before + of + "_bias", {model_.d_model});
}

void Writer::router(const Mixture& mixture) {
  const auto role = [](Part part) { return Role{Block::feed_forward, part}; };
  const std::int64_t width = mixture.router_rank;
  linear({{{role(Part::router_down), width, true}}, model_.d_model}, in_layer(names_.router.down));
  norm(mixture.router_norm, role(Part::router_norm), in_layer(names_.router.norm), {width});
  linear({{{role(Part::router_first), width, true}}, width}, in_layer(names_.router.first));
  linear({{{role(Part::router_second), width, true}}, width}, in_layer(names_.router.second));
  if (mixture.router_chained)
    exact(key_of(role(Part::router_state), Piece::weight), in_layer(names_.router.state), {width});
}

void Writer::indexer(const Attention& a) {
  const Indexer& i = *a.indexer;
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  const std::int64_t d = model_.d_model, read = a.latent && a.latent->query_rank > 0 ? a.latent->query_rank : d;
  linear({{{role(Part::index_query), times(i.n_heads, i.d_head), false}}, read}, in_layer(names_.indexer.query));
  norm(i.query_norm, role(Part::index_query_norm), in_layer(names_.indexer.query_norm), {i.d_head});
  linear({{{role(Part::index_key), i.d_head, false}}, d}, in_layer(names_.indexer.key));
  norm(i.key_norm, role(Part::index_key_norm), in_layer(names_.indexer.key_norm), {i.d_head});
  if (i.summed) linear({{{role(Part::index_weight), i.n_heads, false}}, d}, in_layer(names_.indexer.weight));
}

void Writer::pairs(const Share& part, std::int64_t blocks, const std::string& module) {
  require_name(module, scope_of(part.role));
  const std::int64_t half = blocks / 2, rows = part.rows / blocks;
  const auto add = [&](Piece piece, const char* ending, std::int64_t columns) {
    const std::string tensor = module + ending;
    StoredParameter all{key_of(part.role, piece), {part.rows}, {}};
    if (piece == Piece::weight) all.shape.push_back(columns);
    for (std::int64_t i = 0; i < blocks; ++i) {
      StoredView view{tensor, times(times(i / 2 + i % 2 * half, rows), columns), {{rows, columns}}};
      if (piece == Piece::weight) view.axes.push_back({columns, 1});
      all.views.push_back(std::move(view));
    }
    add_tensor(tensor, all.shape);
    layout_.parameters.push_back(std::move(all));
  };
  add(Piece::weight, ".weight", model_.d_model);
  if (part.bias) add(Piece::bias, ".bias", 1);
}

void Writer::difference_vectors(const Attention& a) {
  const TensorKey key = key_of({Block::attention, Part::difference}, Piece::weight);
  const std::string name = in_layer(names_.difference);
  require_name(name, key);
  StoredParameter all{key, {4, a.d_head}, {}};
  for (const char* which : {"q1", "k1", "q2", "k2"}) {
    all.views.push_back(whole(name + which, {a.d_head}));
    add_tensor(name + which, {a.d_head});
  }
  layout_.parameters.push_back(std::move(all));
}

void Writer::routed_attention(const Attention& a) {
  const auto role = [](Part part, Expert whose = Expert::none) { return Role{Block::attention, part, whose}; };
  const std::int64_t d = model_.d_model, keys = times(a.n_kv_heads, a.d_head), experts = a.routed->n_experts;
  linear({{{role(Part::router), experts, false}}, d}, in_layer(names_.query_router));
  linear({{{role(Part::query, Expert::routed), keys, false}}, d}, in_layer(names_.query), experts);
  linear({{{role(Part::key), keys, false}, {role(Part::value), keys, false}}, d}, in_layer(names_.key_value));
  linear({{{role(Part::output, Expert::routed), d, false}}, keys}, in_layer(names_.output), experts);
  if (a.output_bias) exact(key_of(role(Part::combine), Piece::bias), in_layer(names_.output_shift), {d});
}

void Writer::latent_attention(const Attention& a) {
  const Latent& latent = *a.latent;
  const auto role = [](Part part) { return Role{Block::attention, part}; };
  const std::int64_t d = model_.d_model;
  const std::int64_t queries = times(a.n_heads, plus(latent.d_nope, latent.d_rope));
  if (latent.query_rank == 0) {
    linear({{{role(Part::query), queries, a.query_bias}}, d}, in_layer(names_.query));
  } else {
    linear({{{role(Part::query_down), latent.query_rank, latent.down_bias}}, d}, in_layer(names_.query_down));
    norm(latent.norm, role(Part::query_down_norm), in_layer(names_.query_down_norm), {latent.query_rank});
    Linear up{{{role(Part::query_up), queries, false}},
              latent.raw_too ? times(2, latent.query_rank) : latent.query_rank};
    if (a.gate && names_.gate_with_query) {
      up.parts.push_back(gate_of(a));
      up.go_by_groups(a.n_heads);
    }
    linear(up, in_layer(names_.query_up));
  }
  linear({{{role(Part::kv_down), plus(latent.kv_rank, latent.d_rope), latent.down_bias}}, d}, in_layer(names_.kv_down));
  norm(latent.norm, role(Part::kv_down_norm), in_layer(names_.kv_down_norm), {latent.kv_rank});
  if (names_.as_found && !has(in_layer(names_.kv_up) + ".weight"))
    key_value_up(a);
  else
    linear({{{role(Part::kv_up), times(a.n_heads, plus(latent.d_nope, a.d_value)), false}}, latent.kv_rank},
           in_layer(names_.kv_up));
}

void Writer::key_value_up(const Attention& a) {
  const std::int64_t rank = a.latent->kv_rank, d_key = a.latent->d_nope, d_value = a.d_value;
  const std::string keys = in_layer(names_.key_up) + ".weight", values = in_layer(names_.value_up) + ".weight";
  StoredParameter both{
      key_of({Block::attention, Part::kv_up}, Piece::weight), {times(a.n_heads, plus(d_key, d_value)), rank}, {}};
  for (std::int64_t head = 0; head < a.n_heads; ++head) {
    both.views.push_back({keys, times(head, times(rank, d_key)), {{d_key, 1}, {rank, d_key}}});
    both.views.push_back({values, times(head, times(d_value, rank)), {{d_value, rank}, {rank, 1}}});
  }
  add_tensor(keys, {a.n_heads, rank, d_key});
  add_tensor(values, {a.n_heads, d_value, rank});
  layout_.parameters.push_back(std::move(both));
}

void Writer::for_each_group(const Recurrence& r, Linear linears, const std::string& module) {
  const bool whole = r.n_groups == 1;
  const Part first = linears.parts.front().role.part;
  if (first != Part::step) linears.columns /= r.n_groups;
  if (first == Part::step) linears.parts.front().rows /= r.n_groups;
  for (Share& part : linears.parts)
    if (part.role.part == Part::key || part.role.part == Part::query) part.rows /= r.n_groups;
  require_name(module, scope_of(linears.parts.front().role));
  add(linears, module, false, r.n_groups);
  for (std::size_t i = 0; whole && i < linears.parts.size(); ++i) {  // without an axis for one
    StoredParameter& parameter = layout_.parameters[layout_.parameters.size() - 1 - i];
    parameter.shape.erase(parameter.shape.begin());
    for (StoredView& view : parameter.views) view.axes.erase(view.axes.begin());
  }
}

void Writer::add_kind(const Recurrence& r) {
  using Rule = Recurrence::Rule;
  const auto role = [](Part part) { return Role{Block::recurrence, part}; };
  const RecurrenceNames& names = names_.recurrence;
  if (names.linears.empty()) require_name("", scope_of(role(Part::whole)));
  const std::int64_t value = times(r.n_heads, r.d_head);
  for (const RecurrenceNames::Shared& shared : names.linears) {
    Linear linears{{}, columns_of(r, shared.parts.front())};
    for (const Part part : shared.parts) linears.parts.push_back({role(part), rows_of(r, part), has_bias(r, part)});
    if (shared.by_head && r.n_groups > 0) {
      for_each_group(r, linears, in_recurrence(shared.module));
      continue;
    }
    if (shared.alternate) linears.go_by_groups(linears.parts.front().rows);
    if (shared.by_group && r.n_groups > 0) linears.go_by_groups(r.n_groups);
    linear(linears, in_recurrence(shared.module));
  }
  for (const RecurrenceNames::Shared& shared : names.convolutions)
    if (r.conv_width > 0) convolution(r, shared);
  if (r.rule != Rule::convolution) {
    std::vector<std::int64_t> decay{r.n_heads};
    if (r.rule == Rule::mamba) decay = {value, r.d_state};
    const TensorKey key = key_of(role(Part::decay), Piece::weight);
    if (r.rule == Rule::lightning) {
      const std::string slopes = in_recurrence(names.decay);
      require_name(slopes, key);
      layout_.buffers.push_back({key, decay, {whole(slopes, decay)}});
      add_tensor(slopes, {r.n_heads, 1, 1});
    } else if (r.rule == Rule::rg_lru) {
      exact(key, in_recurrence(names.decay), {value});
      block_gate(r, Part::step, in_recurrence(names.step_gate));
      block_gate(r, Part::beta, in_recurrence(names.beta_gate));
    } else {
      exact(key, in_recurrence(names.decay), decay);
      if (names.decay_of_four) reshape({1, 1, r.n_heads, 1});
      if (names.heads_apart) reshape({r.n_groups, value / r.n_groups, r.d_state});
      exact(key_of(role(Part::decay), Piece::bias), in_recurrence(names.step_bias), {rows_of(r, Part::step)});
      if (names.heads_apart) reshape({r.n_groups, value / r.n_groups});
    }
    if (r.rule == Rule::mamba || r.rule == Rule::mamba2)
      exact(key_of(role(Part::skip), Piece::weight), in_recurrence(names.skip),
            {r.rule == Rule::mamba ? value : r.n_heads});
    if (names.heads_apart) reshape({r.n_groups, value / r.n_groups});
  }
  norm(r.inner_norm, role(Part::step_norm), in_recurrence(names.step_norm), {r.step_rank});
  norm(r.inner_norm, role(Part::key_norm), in_recurrence(names.key_norm), {r.d_state});
  norm(r.inner_norm, role(Part::query_norm), in_recurrence(names.query_norm), {r.d_state});
  result_norm(r, in_recurrence(names.gate_norm));
  linear({{{role(Part::output), model_.d_model, r.output_bias}}, value}, in_recurrence(names.output));
}

void Writer::block_gate(const Recurrence& r, Part part, const std::string& module) {
  const Role role{Block::recurrence, part};
  require_name(module, scope_of(role));
  const std::int64_t d = r.d_head, square = times(d, d);
  layout_.parameters.push_back({key_of(role, Piece::weight),
                                {r.n_heads, d, d},
                                {{module + "_weight", 0, {{r.n_heads, square}, {d, 1}, {d, d}}}}});
  add_tensor(module + "_weight", {r.n_heads, d, d});
  exact(key_of(role, Piece::bias), module + "_bias", {r.n_heads, d});
}

void Writer::result_norm(const Recurrence& r, const std::string& module) {
  if (!r.norm || !r.norm->weight) return;
  const TensorKey key = key_of({Block::recurrence, Part::gate_norm}, Piece::weight);
  require_name(module, key);
  const std::int64_t value = times(r.n_heads, r.d_head), each = value / r.norm_parts;
  if (r.norm_parts == 1 || r.norm_shared) return exact(key, module + ".weight", {each});
  const std::vector<std::int64_t> shape{r.norm_parts, each};
  layout_.parameters.push_back({key, shape, {whole(module + ".weight", shape)}});
  add_tensor(module + ".weight", {value});
}

void Writer::convolution(const Recurrence& r, const RecurrenceNames::Shared& shared) {
  const std::string module = in_recurrence(shared.module);
  std::int64_t channels = 0;
  for (const Part part : shared.parts) {
    const std::int64_t own = rows_of(r, part);
    const auto key = [&](Piece piece) { return key_of({Block::recurrence, part}, piece); };
    layout_.parameters.push_back(
        {key(Piece::weight),
         {own, r.conv_width},
         {{module + ".weight", times(channels, r.conv_width), {{own, r.conv_width}, {r.conv_width, 1}}}}});
    if (r.conv_bias)
      layout_.parameters.push_back({key(Piece::bias), {own}, {{module + ".bias", channels, {{own, 1}}}}});
    channels = plus(channels, own);
  }
  add_tensor(module + ".weight", {channels, 1, r.conv_width});
  if (r.conv_bias) add_tensor(module + ".bias", {channels});
}

void Writer::xielu(Role role) {
  const std::string module = in_layer(names_.activation);
  const auto add_two = [&](Piece piece, const char* first, const char* second, const std::vector<std::int64_t>& shape) {
    StoredParameter both{key_of(role, piece), {2}, {}};
    for (const char* name : {first, second}) {
      both.views.push_back({module + name, 0, {{1, 1}}});
      add_tensor(module + name, shape);
    }
    return both;
  };
  layout_.parameters.push_back(add_two(Piece::weight, ".alpha_p", ".alpha_n", {1}));
  layout_.buffers.push_back(add_two(Piece::bias, ".beta", ".eps", {}));
}

void Writer::own_norms(const Mixture& mixture) {
  const OwnNormNames& names = names_.own_norms;
  const std::int64_t d = model_.d_model;
  const auto role = [](Part part, Expert whose) { return Role{Block::feed_forward, part, whose}; };
  const auto around = [&](Expert whose, std::string_view before, std::string_view after) {
    norm(mixture.own_norms, role(Part::norm, whose), in_layer(before), {d});
    norm(mixture.own_norms, role(Part::norm_after, whose), in_layer(after), {d});
  };
  if (mixture.own_norms) {
    around(Expert::routed, names.before_experts, names.after_experts);
    if (mixture.shared) around(Expert::shared, names.before_shared, names.after_shared);
    exact(key_of(role(Part::router_norm, Expert::none), Piece::weight), in_layer(names.router), {d});
  }
  if (!mixture.expert_scale) return;
  const std::string scales = in_layer(names.expert_scale);
  layout_.parameters.push_back({key_of(role(Part::expert_scale, Expert::none), Piece::weight),
                                {mixture.n_experts, 1},
                                {{scales, 0, {{mixture.n_experts, 1}, {1, 1}}}}});
  add_tensor(scales, {mixture.n_experts});
}

void Writer::add_always(const Mixture& mixture, std::size_t first) {
  const std::size_t end = layout_.parameters.size();
  feed_forward(mixture.expert, Expert::routed, names_.shared, mixture.n_always);
  for (std::size_t i = end; i < layout_.parameters.size(); ++i)
    for (std::size_t k = first; k < end; ++k) {
      StoredParameter& all = layout_.parameters[k];
      if (all.key != layout_.parameters[i].key) continue;
      all.shape.front() = mixture.n_experts;
      std::vector<StoredView> views = one_each(all.views.front());
      for (StoredView& view : one_each(layout_.parameters[i].views.front())) views.push_back(std::move(view));
      all.views = std::move(views);
    }
  layout_.parameters.resize(end);
}

}  // namespace reckon::stored
