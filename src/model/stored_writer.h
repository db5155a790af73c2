// Which tensors of a file hold a model's parameters, written layer by layer. Every matrix goes through one description
// (parts, groups, transposed or not), so that a family is only names. What only rarer families have is in
// stored_rarer.cpp: the page's first module that runs is without it.
#pragma once

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/checked.h"
#include "files/quote.h"
#include "model/families.h"
#include "model/stored.h"
#include "model/sublayers.h"

namespace reckon::stored {

inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return checked_multiply(a, b, "the size of a stored tensor");
}

inline std::int64_t plus(std::int64_t a, std::int64_t b) { return checked_add(a, b, "the size of a stored tensor"); }

inline std::string numbered(std::string_view pattern, std::int64_t number) {
  return fmt::format(fmt::runtime(pattern), number);
}

// A linear layer's matrix (out × in), or several whose rows share a tensor.
struct Share {
  Role role;
  std::int64_t rows;  // in each group
  bool bias;
};
struct Linear {
  std::vector<Share> parts;
  std::int64_t columns;
  std::int64_t groups = 1;  // the rows go group by group, in each of them part by part
  bool transposed = false;  // stored in × out

  void go_by_groups(std::int64_t number) {
    groups = number;
    for (Share& part : parts) part.rows /= number;
  }
};

// A module of each expert, not one tensor of all.
inline bool one_by_one(std::string_view name) { return name.find("{}") != std::string_view::npos; }

// What the family calls its tensors; where there are several ways, as in a file that has these.
FamilyNames names_of(const std::string& family, const StoredNames& present);

class Writer {
 public:
  Writer(const Model& model, const StoredNames& present, bool turned = false)
      : model_(model), names_(names_of(model.family, present)), present_(present) {
    for (MixtureNames& form : names_.mixtures)
      if (form.either && turned) form.transposed = !form.transposed;
    prefix_ = names_.prefixes.front();
    for (const std::string_view prefix : names_.prefixes)
      if (has(fmt::format("{}{}.weight", prefix, names_.token_embedding))) {
        prefix_ = prefix;
        break;
      }
  }

  StoredLayout write() {
    const std::int64_t d = model_.d_model;
    const bool projects = model_.d_embedding != d;
    plain({Block::embedding, Part::token}, body(names_.token_embedding),
          {plus(model_.vocab_size, model_.padding_rows), model_.d_embedding});
    if (model_.positions.kind == Positions::Kind::learned)
      plain({Block::embedding, Part::position}, body(names_.position_embedding),
            {plus(model_.context, model_.positions.extra_rows), d});
    if (projects)
      linear({{{{Block::embedding, Part::project}, d, false}}, model_.d_embedding}, body(names_.embedding_project));
    norm(model_.embedding_norm, {Block::embedding, Part::norm}, body(names_.embedding_norm), {d});
    if (model_.hyper) hyper(Block::streams, body(names_.hyper_head), model_.hyper->streams, 1);
    if (model_.embedding_affine)
      affine({Block::embedding, Part::stream_scale}, body(names_.affine.embedding), "hidden_states");
    if (model_.layer_inputs) layer_inputs(*model_.layer_inputs);
    if (model_.altup) stream_projections(*model_.altup);
    for (std::size_t n = 0; n < model_.layers.size(); ++n) layer(static_cast<std::int64_t>(n));
    layer_ = -1;
    nth_ = 0;
    number_ = 0;
    norm(model_.final_norm, {Block::final_norm}, body(names_.final_norm), {d});
    if (projects) linear({{{{Block::head, Part::project}, model_.d_embedding, false}}, d}, body(names_.head_project));
    head();
    return std::move(layout_);
  }

 private:
  bool has(const std::string& name) const { return present_.contains(name); }

  // The name in the file of a module outside of the layers, or of one inside layer n. No name stays none.
  std::string body(std::string_view name) const { return name.empty() ? "" : prefix_ + std::string(name); }
  // Families have a name for one sublayer of a kind, unless it says which one it is.
  std::string in_layer(std::string_view name) const {
    const std::size_t which = name.find('#');
    if (name.empty() || (number_ > 0 && which == std::string_view::npos)) return "";
    std::string stored = stored_layer_ + std::string(name);
    if (which != std::string_view::npos) stored.replace(stored_layer_.size() + which, 1, std::to_string(number_));
    return stored;
  }

  void add_tensor(const std::string& name, std::vector<std::int64_t> shape) {
    layout_.tensors.push_back({name, std::move(shape)});
  }

  // The last tensor has other extents than its parameter.
  void reshape(std::vector<std::int64_t> shape) { layout_.tensors.back().shape = std::move(shape); }

  Scope scope_of(Role role) const { return {role, layer_, nth_}; }
  TensorKey key_of(Role role, Piece piece) const { return {scope_of(role), piece}; }

  // `part`: a scope, or a key.
  template <class Named>
  void require_name(const std::string& stored, const Named& part) const {
    if (stored.empty())
      throw Error(fmt::format("{} has {}, which files of the family {} have no name for", quote(model_.name),
                              full_name(part), quote(model_.family)));
  }

  // A view of a whole tensor in its own order.
  static StoredView whole(const std::string& tensor, const std::vector<std::int64_t>& shape) {
    StoredView view{tensor, 0, std::vector<StoredAxis>(shape.size())};
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      view.axes[i] = {shape[i], stride};
      stride = times(stride, shape[i]);
    }
    return view;
  }

  void exact(const TensorKey& key, const std::string& tensor, const std::vector<std::int64_t>& shape) {
    require_name(tensor, key);
    layout_.parameters.push_back({key, shape, {whole(tensor, shape)}});
    add_tensor(tensor, shape);
  }

  // `module` is named without ".weight".
  void plain(Role role, const std::string& module, const std::vector<std::int64_t>& shape) {
    const TensorKey key = key_of(role, Piece::weight);
    require_name(module, key);
    exact(key, module + ".weight", shape);
  }

  void norm(const std::optional<Norm>& norm, Role role, const std::string& module,
            const std::vector<std::int64_t>& shape) {
    if (!norm) return;
    require_name(module, scope_of(role));
    if (norm->weight) exact(key_of(role, Piece::weight), module + ".weight", shape);
    if (norm->bias) exact(key_of(role, Piece::bias), module + ".bias", shape);
  }

  // Where each part lies in a tensor of all of them, whose first axis may count experts (0: no such axis).
  // Biases are laid out like rows of one element.
  struct Placed {
    std::vector<StoredView> views;    // one per part
    std::vector<std::int64_t> shape;  // of the tensor
  };
  static Placed place(const Linear& linear, const std::string& tensor, bool bias, std::int64_t experts) {
    std::int64_t group_rows = 0;
    for (const Share& part : linear.parts) group_rows = plus(group_rows, part.rows);
    const std::int64_t rows = times(linear.groups, group_rows);
    const std::int64_t row_stride = bias || linear.transposed ? 1 : linear.columns;
    Placed placed;
    if (experts) placed.shape.push_back(experts);
    placed.shape.push_back(!bias && linear.transposed ? linear.columns : rows);
    if (!bias) placed.shape.push_back(linear.transposed ? rows : linear.columns);

    std::int64_t first_row = 0;
    for (const Share& part : linear.parts) {
      StoredView view{tensor, times(first_row, row_stride), {}};
      if (experts) view.axes.push_back({experts, bias ? rows : times(rows, linear.columns)});
      if (linear.groups > 1) view.axes.push_back({linear.groups, times(group_rows, row_stride)});
      // A group of one row needs no axis of its own (interleaved rows).
      if (linear.groups == 1 || part.rows > 1) view.axes.push_back({part.rows, row_stride});
      if (!bias) view.axes.push_back({linear.columns, linear.transposed ? rows : 1});
      placed.views.push_back(std::move(view));
      first_row += part.rows;
    }
    return placed;
  }

  // The parameters' own shapes: [out, in] or [out], with the experts in front.
  static std::vector<std::int64_t> shape_of(const Linear& linear, const Share& part, bool bias, std::int64_t experts) {
    std::vector<std::int64_t> shape;
    if (experts) shape.push_back(experts);
    shape.push_back(times(linear.groups, part.rows));
    if (!bias) shape.push_back(linear.columns);
    return shape;
  }

  // Adds the weights, or the biases, of all parts from the tensors (one, or one for each expert) of that name.
  void add(const Linear& linear, std::string_view tensor, bool bias, std::int64_t experts) {
    const bool each = one_by_one(tensor);
    std::vector<StoredParameter> parameters;
    for (const Share& part : linear.parts)
      parameters.push_back(
          {key_of(part.role, bias ? Piece::bias : Piece::weight), shape_of(linear, part, bias, experts), {}});
    if (each) check_number(plus(experts, identity_));
    for (std::int64_t i = 0; i < (each ? experts : 1); ++i) {
      const std::string name = each ? numbered(tensor, i) : std::string(tensor);
      Placed placed = place(linear, name, bias, each ? 0 : experts);
      if (flat_ && placed.shape.size() == 3) placed.shape = {times(placed.shape[0], placed.shape[1]), placed.shape[2]};
      for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].views.push_back(std::move(placed.views[p]));
      add_tensor(name, std::move(placed.shape));
    }
    // LongCat's files, as transformers writes them, have what identity experts would read.
    for (std::int64_t i = experts; each && i < experts + identity_; ++i)
      if (const std::string name = numbered(tensor, i); has(name)) add_tensor(name, place(linear, name, bias, 0).shape);
    for (StoredParameter& parameter : parameters) layout_.parameters.push_back(std::move(parameter));
  }

  // A number in a header could ask for as many names as fit into memory.
  void check_number(std::int64_t experts) const {
    // Twice as many as DeepSeek-V3 has, or a file that lacks all but a few.
    const std::ptrdiff_t most = std::max<std::ptrdiff_t>(200'000, 64 * std::ssize(present_));
    if (present_.empty() || std::ssize(layout_.tensors) + experts <= most) return;
    throw Error(
        fmt::format("{} has {} experts with tensors of their own in layer {}, far more than the {} tensors of "
                    "the file",
                    quote(model_.name), experts, layer_, present_.size()));
  }

  bool has_bias(const Linear& linear) const {
    for (const Share& part : linear.parts)
      if (part.bias != linear.parts.front().bias)
        throw Error(
            fmt::format("{} has a bias on only one of {} and {}, which share a tensor in files of the family {}",
                        quote(model_.name), full_name(scope_of(linear.parts.front().role)),
                        full_name(scope_of(part.role)), quote(model_.family)));
    return linear.parts.front().bias;
  }

  // Of a module, or of so many experts. One tensor of all experts is a parameter itself and may carry no ".weight".
  void linear(const Linear& linear, const std::string& module, std::int64_t experts = 0) {
    require_name(module, scope_of(linear.parts.front().role));
    const bool fused = experts > 0 && !one_by_one(module);
    const auto ending = [&](std::string_view all, const char* own) { return fused ? std::string(all) : own; };
    add(linear, module + ending(names_.all_experts_weight, ".weight"), false, experts);
    if (has_bias(linear)) add(linear, module + ending(names_.all_experts_bias, ".bias"), true, experts);
  }

  void layer(std::int64_t n) {
    const Layer& layer = model_.layers[static_cast<std::size_t>(n)];
    if (layer.shares > 0) return;
    layer_ = static_cast<std::int32_t>(n);
    stored_layer_ = prefix_ + numbered(names_.layer, n);
    const bool beside = std::any_of(layer.sublayers.begin(), layer.sublayers.end(),
                                    [](const Sublayer& s) { return s.reads == Sublayer::Reads::entry; });
    for (std::size_t i = 0; i < layer.sublayers.size(); ++i) {
      const Sublayer& sublayer = layer.sublayers[i];
      nth_ = nth_of_block(layer, i);
      number_ = 0;
      for (std::size_t k = 0; k < i; ++k) number_ += layer.sublayers[k].kind.index() == sublayer.kind.index();
      columns_ = sublayer.reads == Sublayer::Reads::embedded ? times(2, model_.d_model) : model_.d_model;
      const bool mixture = std::holds_alternative<Mixture>(sublayer.kind) && !names_.mixture_norm_after.empty();
      const bool apart = std::holds_alternative<Recurrence>(sublayer.kind) && find<Attention>(layer) != nullptr;
      const std::string own_layer = stored_layer_;
      if (apart) stored_layer_ += names_.recurrence.beside_attention;
      if (sublayer.shares == 0) {
        norms(sublayer, beside && !names_.parallel_attention_norm.empty(), mixture);
        std::visit([&](const auto& kind) { add_kind(kind); }, sublayer.kind);
      }
      if (sublayer.laurel) laurel(*sublayer.laurel);
      const std::string_view factors =
          block_of(sublayer) == Block::attention ? names_.attention_stream : names_.feed_forward_stream;
      if (sublayer.stream_weight)
        exact(key_of({block_of(sublayer), Part::stream_scale}, Piece::weight), in_layer(factors), {model_.d_model});
      if (model_.hyper) {
        const Block block = block_of(sublayer);
        const std::int64_t several = model_.hyper->streams;
        hyper(block, in_layer(block == Block::attention ? names_.hyper_attention : names_.hyper_feed_forward),
              times(several, plus(several, 2)), 3);
      }
      if (sublayer.affine) {
        const Block block = block_of(sublayer);
        const std::string before =
            in_layer(block == Block::attention ? names_.affine.attention : names_.affine.feed_forward);
        affine({block, Part::result_scale}, before, "hidden_states");
        affine({block, Part::stream_scale}, before, "residual");
      }
      stored_layer_ = prefix_ + numbered(names_.layer, n - sublayer.shares);
      if (has_adapters(sublayer)) adapters(sublayer, n);
      stored_layer_ = own_layer;
      if (sublayer.conv_width > 0)
        channels(
            {block_of(sublayer), Part::query_convolution}, sublayer.conv_width, model_.d_model,
            block_of(sublayer) == Block::attention ? names_.attention_convolution : names_.feed_forward_convolution);
      if (sublayer.projects)
        linear({{{{block_of(sublayer), Part::project}, model_.d_model, false}}, model_.d_model},
               in_layer(names_.projection));
    }
    columns_ = model_.d_model;
    nth_ = 0;
    if (model_.altup) streams(*model_.altup);
    if (layer.scaled) {
      exact(key_of({Block::feed_forward, Part::stream_scale}, Piece::weight), in_layer(names_.streams.layer_scale),
            {1});
      layout_.buffers.push_back(std::move(layout_.parameters.back()));
      layout_.parameters.pop_back();
    }
  }

  // A convolution of each channel.
  void channels(Role role, std::int64_t width, std::int64_t count, std::string_view name) {
    const std::string module = in_layer(name);
    require_name(module, scope_of(role));
    exact(key_of(role, Piece::weight), module + ".weight", {count, width});
    reshape({count, 1, width});
  }

  static bool has_adapters(const Sublayer& sublayer) {
    const auto* attention = std::get_if<Attention>(&sublayer.kind);
    const auto* feed_forward = std::get_if<FeedForward>(&sublayer.kind);
    return (attention != nullptr && attention->adapter_rank > 0) ||
           (feed_forward != nullptr && feed_forward->adapter_rank > 0);
  }
  // Adapters of layer n's own, which lie with the weights that they are beside.
  void adapters(const Sublayer& sublayer, std::int64_t n);

  void layer_inputs(const LayerInputs& inputs);

  void add_kind(const LayerInput& input);

  // One for each stream but the first, into all of them and out of them.
  void stream_projections(const AltUp& altup);

  void streams(const AltUp& altup);

  void laurel(const Laurel& laurel);

  // `beside`: in a parallel block, whose norms have names of their own. `mixture`: so has the norm after one.
  void norms(const Sublayer& sublayer, bool beside, bool mixture) {
    const SublayerNorms& around = sublayer.norms;
    const Block block = block_of(sublayer);
    struct Names {
      std::string_view before, after, residual;
    };
    Names names = block == Block::attention || block == Block::recurrence
                      ? Names{beside ? names_.parallel_attention_norm : names_.attention_norm,
                              names_.attention_norm_after, names_.attention_norm_residual}
                  : block == Block::feed_forward
                      ? Names{beside ? names_.parallel_feed_forward_norm : names_.feed_forward_norm,
                              mixture ? names_.mixture_norm_after : names_.feed_forward_norm_after,
                              names_.feed_forward_norm_residual}
                  : block == Block::layer_input ? Names{{}, names_.streams.norm_after, {}}
                                                : Names{names_.cross_norm, {}, {}};
    if (block == Block::recurrence && !names_.recurrence.norm.empty()) names.before = names_.recurrence.norm;
    const std::string other = block == Block::attention ? in_layer(names_.attention_norm_after_too) : "";
    const bool as_other = !other.empty() && has(other + ".weight");
    const std::vector<std::int64_t> d{model_.d_model};
    const std::string before = in_layer(names.before);
    const bool gated = sublayer.norm_gate > 0;
    norm(around.before, {block, Part::norm}, gated ? before + std::string(names_.norm_in_gated) : before, {columns_});
    if (gated) {
      linear({{{{block, Part::norm_gate_down}, sublayer.norm_gate, false}}, model_.d_model},
             before + std::string(names_.norm_gate_down));
      linear({{{{block, Part::norm_gate}, model_.d_model, false}}, sublayer.norm_gate},
             before + std::string(names_.norm_gate));
    }
    norm(around.after, {block, Part::norm_after}, as_other ? other : in_layer(names.after), d);
    norm(around.residual, {block, Part::norm_residual}, in_layer(names.residual), d);
  }

  // Weights of the streams, of a sublayer or the head.
  void hyper(Block block, const std::string& before, std::int64_t width, std::int64_t scales);

  void entries(const SharedKey& shared, std::int64_t each, std::string_view name, Part given, Part gate, Part position,
               Part norm_part);

  void shared_key_attention(const Attention& a);

  void add_kind(const Attention& a) {
    if (a.routed) return routed_attention(a);
    if (a.shared_key) return shared_key_attention(a);
    if (a.latent)
      latent_attention(a);
    else
      attention(a);
    const bool own_bias = a.output_bias && names_.output_bias.empty();
    linear({{{{Block::attention, Part::output}, model_.d_model, own_bias}},
            times(a.n_heads, a.d_value),
            1,
            names_.transposed},
           in_layer(names_.output));
    if (a.output_bias && !own_bias)
      exact(key_of({Block::attention, Part::output}, Piece::bias), in_layer(names_.output_bias), {model_.d_model});
    if (a.gate && !names_.gate_with_query) linear({{gate_of(a)}, model_.d_model}, in_layer(names_.output_gate));
    if (a.indexer && a.indexer->from == 0) indexer(a);
    if (a.convolved) convolved(a);
    if (a.key_scale)
      exact(key_of({Block::attention, Part::key_scale}, Piece::weight), in_layer(names_.convolved.key_scale),
            {a.n_kv_heads});
    if (a.conv_width > 0) {
      channels({Block::attention, Part::key_convolution}, a.conv_width, times(a.n_kv_heads, a.d_head),
               names_.key_convolution);
      channels({Block::attention, Part::value_convolution}, a.conv_width, times(a.n_kv_heads, a.d_value),
               names_.value_convolution);
    }
    if (a.relative) {
      const Relative& relative = *a.relative;
      linear({{{{Block::attention, Part::relative}, times(a.n_heads, relative.rank), false}}, model_.d_model},
             in_layer(names_.relative));
      const std::string profile = in_layer(names_.profile);
      const TensorKey key = key_of({Block::attention, Part::profile}, Piece::weight);
      require_name(profile, key);
      layout_.parameters.push_back({key,
                                    {relative.extent, relative.rank},
                                    {{profile, 0, {{relative.extent, 1}, {relative.rank, relative.extent}}}}});
      add_tensor(profile, {relative.rank, relative.extent});
    }
  }

  // Convolutions of the channels and of the heads of queries, then keys.
  void convolved(const Attention& a);

  // Factors and shifts.
  void affine(Role role, const std::string& before, const std::string& of);

  void router(const Mixture& mixture);

  void indexer(const Attention& a);

  static Share gate_of(const Attention& a) {
    return {{Block::attention, Part::gate}, a.gate->per_head ? a.n_heads : times(a.n_heads, a.d_value), a.gate->bias};
  }

  void add_kind(const FeedForward& f) {
    feed_forward(f, Expert::none, names_.feed_forward);
    if (f.scaled) exact(key_of({Block::feed_forward, Part::factor}, Piece::weight), in_layer(names_.factor), {1});
  }

  void attention(const Attention& a) {
    const Share query{{Block::attention, Part::query}, times(a.n_heads, a.d_head), a.query_bias};
    const Share key{{Block::attention, Part::key}, times(a.n_kv_heads, a.d_head), a.key_bias};
    const std::int64_t values = times(a.n_kv_heads, a.d_value);
    const Share value{{Block::attention, Part::value}, a.convolved ? values / 2 : values, a.value_bias};
    const std::int64_t d = columns_;
    const std::string all = in_layer(names_.query_key_value);
    if (a.difference) {
      pairs(query, a.n_kv_heads, in_layer(names_.query));
      pairs(key, a.n_kv_heads, in_layer(names_.key));
      pairs(value, a.n_kv_heads, in_layer(names_.value));
      difference_vectors(a);
    } else if (all.empty() || (names_.as_found && !has(all + ".weight"))) {
      Linear queries{{query}, d, 1, names_.transposed};
      if (a.gate && names_.gate_with_query) {
        queries.parts.push_back(gate_of(a));
        queries.go_by_groups(a.n_heads);
      }
      linear(queries, in_layer(names_.query));
      if (a.kv_from == 0) linear({{key}, d, 1, names_.transposed}, in_layer(names_.key));
      if (a.kv_from == 0 && !a.values_from_keys) linear({{value}, d, 1, names_.transposed}, in_layer(names_.value));
    } else {
      Linear fused{{query, key, value}, d, 1, names_.transposed};
      if (names_.blocks > 0) std::swap(fused.parts[1], fused.parts[2]);
      if (names_.blocks > 0) fused.go_by_groups(names_.blocks);
      if (names_.by_group && a.n_kv_heads > 0) fused.go_by_groups(a.n_kv_heads);
      linear(fused, all);
    }
    if (a.query_key_norm) {
      head_norm(a, {Block::attention, Part::query_norm}, names_.query_norm, a.n_heads);
      if (a.kv_from == 0) head_norm(a, {Block::attention, Part::key_norm}, names_.key_norm, a.n_kv_heads);
    }
    if (a.dynamic_mask) {
      linear({{{{Block::attention, Part::mask}, a.n_kv_heads, a.dynamic_mask->bias}}, times(a.n_kv_heads, a.d_value)},
             in_layer(names_.mask));
      exact(key_of({Block::attention, Part::decay}, Piece::weight), in_layer(names_.mask_decay), {a.n_kv_heads});
    }
    if (a.sinks) exact(key_of({Block::attention, Part::sinks}, Piece::weight), in_layer(names_.sinks), {a.n_heads});
  }

  void head_norm(const Attention& a, Role role, std::string_view module, std::int64_t heads) {
    std::vector<std::int64_t> shape{a.d_head};
    if (a.norm_span == Attention::NormSpan::own_head) shape = {heads, a.d_head};
    if (a.norm_span == Attention::NormSpan::all_heads) shape = {times(heads, a.d_head)};
    const std::string stored = in_layer(module);
    if (!one_by_one(stored)) return norm(a.query_key_norm, role, stored, shape);
    // A tensor for each head, laid end to end.
    const auto add_heads = [&](Piece piece) {
      StoredParameter all{key_of(role, piece), shape, {}};
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::string name = numbered(stored, head) + (piece == Piece::bias ? ".bias" : ".weight");
        all.views.push_back(whole(name, {a.d_head}));
        add_tensor(name, {a.d_head});
      }
      layout_.parameters.push_back(std::move(all));
    };
    if (a.query_key_norm->weight) add_heads(Piece::weight);
    if (a.query_key_norm->bias) add_heads(Piece::bias);
  }

  // Files have the first heads of all pairs, then the second ones; here they stand side by side: of each of two halves,
  // `blocks` / 2 blocks of rows.
  void pairs(const Share& part, std::int64_t blocks, const std::string& module);

  void difference_vectors(const Attention& a);

  // The experts' tensors are modules of their own, with ".weight".
  void routed_attention(const Attention& a);

  void latent_attention(const Attention& a);

  // The rows of kv_up go head by head, keys before values; here keys (each head's transposed) and values have tensors
  // of their own.
  void key_value_up(const Attention& a);

  void add_kind(const CrossAttention& cross) {
    const auto role = [](Part part) { return Role{Block::cross_attention, part}; };
    const std::int64_t d = model_.d_model, inner = times(cross.n_heads, cross.d_head);
    const bool t = names_.transposed;
    linear({{{role(Part::query), inner, cross.bias}}, d, 1, t}, in_layer(names_.cross_query));
    linear({{{role(Part::key), inner, cross.bias}, {role(Part::value), inner, cross.bias}}, d, 1, t},
           in_layer(names_.cross_key_value));
    linear({{{role(Part::output), d, cross.bias}}, inner, 1, t}, in_layer(names_.cross_output));
  }

  // Rows of a recurrence's matrix, channels of its convolution.
  static std::int64_t rows_of(const Recurrence& r, Part part) {
    using Rule = Recurrence::Rule;
    const std::int64_t value = times(r.n_heads, r.d_head), key = times(r.n_groups, r.d_state);
    switch (part) {
      case Part::key:
      case Part::query:
      case Part::key_convolution:
      case Part::query_convolution:
        return r.rule == Rule::convolution ? value : key;
      case Part::step_down:
        return r.step_rank;
      case Part::step:
        return r.rule == Rule::mamba ? value : r.channel_decay ? times(r.n_heads, r.d_state) : r.n_heads;
      case Part::beta:
        return r.n_heads;
      case Part::gate_down:
        return r.gate_rank;
      default:
        return value;
    }
  }
  std::int64_t columns_of(const Recurrence& r, Part part) const {
    if (part == Part::step && r.step_rank > 0) return r.step_rank;
    if (part == Part::gate && r.gate_rank > 0) return r.gate_rank;
    const bool inner = part == Part::step_down || part == Part::key || part == Part::query;
    return r.rule == Recurrence::Rule::mamba && inner ? times(r.n_heads, r.d_head) : model_.d_model;
  }
  static bool has_bias(const Recurrence& r, Part part) {
    if (part == Part::step_down || part == Part::gate_down) return false;
    const bool inner = part == Part::step || part == Part::key || part == Part::query;
    return r.bias && !(r.rule == Recurrence::Rule::mamba && inner);
  }

  std::string in_recurrence(std::string_view name) const {
    return name.empty() ? "" : in_layer(std::string(names_.recurrence.module) + std::string(name));
  }

  // A matrix of each group of heads, for its own values or for its own part of what makes the steps.
  void for_each_group(const Recurrence& r, Linear linears, const std::string& module);

  void add_kind(const Recurrence& r);

  // A matrix of each block of channels, in × out, and its bias.
  void block_gate(const Recurrence& r, Part part, const std::string& module);

  // Files have one vector; where each part has a weight of its own, that is all of them one after another.
  void result_norm(const Recurrence& r, const std::string& module);

  void convolution(const Recurrence& r, const RecurrenceNames::Shared& shared);

  // `form`: how experts are stored.
  void feed_forward(const FeedForward& f, Expert whose, const FeedForwardNames& names, std::int64_t experts = 0,
                    const MixtureNames& form = {}, std::int64_t width = 0) {
    const auto role = [&](Part part) { return Role{Block::feed_forward, part, whose}; };
    const Share gate{role(Part::gate), f.d_ff, f.bias}, up{role(Part::up), f.d_ff, f.bias};
    const std::int64_t d = width > 0 ? width : model_.d_model;
    const bool t = names_.transposed || form.transposed;
    flat_ = form.flat;
    if (f.gated && !names.gate_up.empty()) {
      Linear both{{gate, up}, d, 1, t};
      if (form.interleaved) both.go_by_groups(f.d_ff);
      linear(both, in_layer(names.gate_up), experts);
    } else {
      if (f.gated) linear({{gate}, d, 1, t}, in_layer(names.gate), experts);
      linear({{up}, d, 1, t}, in_layer(names.up), experts);
    }
    linear({{{role(Part::down), d, f.bias}}, f.d_ff, 1, t || form.down_transposed}, in_layer(names.down), experts);
    flat_ = false;
    if (f.activation == Activation::xielu) xielu(role(Part::activation));
  }

  // Two slopes, which are trained, and two numbers that are not.
  void xielu(Role role);

  void add_kind(const Mixture& mixture) {
    const auto role = [](Part part, Expert whose = Expert::none) { return Role{Block::feed_forward, part, whose}; };
    if (names_.mixtures.empty()) require_name("", scope_of(role(Part::whole, Expert::routed)));
    const MixtureNames& form = mixture_form();
    const std::int64_t all = plus(mixture.n_experts, plus(mixture.n_identity, mixture.n_null));
    const std::int64_t scored = mixture.product_keys ? 2 * square_root(mixture.n_experts) : all;
    if (mixture.router_rank > 0) router(mixture);
    const std::int64_t read = mixture.router_rank > 0 ? mixture.router_rank : model_.d_model;
    linear({{{role(Part::router), scored, mixture.router_bias}}, read}, in_layer(form.router));
    if (mixture.own_norms || mixture.expert_scale) own_norms(mixture);
    if (mixture.output_bias)
      exact(key_of(role(Part::combine), Piece::bias), in_layer(names_.mixture_shift), {model_.d_model});
    if (mixture.correction_bias) {
      exact(key_of(role(Part::correction), Piece::bias), in_layer(names_.correction), {all - mixture.n_always});
      if (names_.correction_rows) reshape({1, all});
      if (!mixture.correction_counted) {
        layout_.buffers.push_back(std::move(layout_.parameters.back()));
        layout_.parameters.pop_back();
      }
    }
    if (mixture.hashed) {
      exact(key_of(role(Part::table), Piece::weight), in_layer(names_.expert_table),
            {model_.vocab_size, mixture.n_active});
      layout_.buffers.push_back(std::move(layout_.parameters.back()));
      layout_.parameters.pop_back();
    }
    identity_ = mixture.n_identity;
    const std::size_t before = layout_.parameters.size();
    feed_forward(mixture.expert, Expert::routed, form.experts, mixture.n_experts - mixture.n_always, form,
                 mixture.d_latent);
    identity_ = 0;
    if (mixture.n_always > 0) add_always(mixture, before);
    if (mixture.scaled) exact(key_of(role(Part::factor), Piece::weight), in_layer(names_.mixture_factor), {1});
    if (mixture.d_latent > 0) {
      linear({{{role(Part::into_experts), mixture.d_latent, mixture.latent_bias}}, model_.d_model},
             in_layer(form.into));
      linear({{{role(Part::out_of_experts), model_.d_model, mixture.latent_bias}}, mixture.d_latent},
             in_layer(form.out_of));
    }
    if (mixture.shared) feed_forward(*mixture.shared, Expert::shared, names_.shared);
    if (mixture.shared && mixture.shared_gate) {
      linear({{{role(Part::router, Expert::shared), 1, false}}, model_.d_model}, in_layer(names_.shared_gate));
      if (names_.as_found) reshape({model_.d_model});
    }
  }

  void own_norms(const Mixture& mixture);

  // Experts that every token takes have tensors of their own, and lie behind the others.
  void add_always(const Mixture& mixture, std::size_t first);

  // Of a tensor of all experts, a view of each.
  static std::vector<StoredView> one_each(const StoredView& all) {
    std::vector<StoredView> views;
    for (std::int64_t i = 0; i < all.axes.front().extent; ++i)
      views.push_back(
          {all.tensor, plus(all.offset, times(i, all.axes.front().stride)), {all.axes.begin() + 1, all.axes.end()}});
    return views;
  }

  // The form of which this layer's first tensor is there.
  const MixtureNames& mixture_form() const {
    const auto there = [&](std::string_view module) {
      const std::string name = in_layer(module);
      return has(one_by_one(name) ? numbered(name, 0) + ".weight" : name + std::string(names_.all_experts_weight));
    };
    for (const MixtureNames& form : names_.mixtures) {
      const FeedForwardNames& experts = form.experts;
      // Forms of GGUF differ in the others alone.
      if (there(experts.down) && (!names_.as_found || there(experts.gate_up.empty() ? experts.gate : experts.gate_up)))
        return form;
    }
    return names_.mixtures.front();
  }

  void head() {
    std::string module(names_.heads.front());
    for (const std::string_view name : names_.heads)
      if (has(fmt::format("{}.weight", name))) module = name;
    if (!model_.head.tied)
      plain({Block::head}, module, {plus(model_.vocab_size, model_.padding_rows), model_.d_embedding});
    else
      for (const std::string_view name : names_.heads) layout_.tied_heads.push_back(fmt::format("{}.weight", name));
    if (model_.head.bias) exact(key_of({Block::head}, Piece::bias), module + ".bias", {model_.vocab_size});
  }

  const Model& model_;
  FamilyNames names_;
  const StoredNames& present_;
  std::string prefix_;         // in the file, of everything but the head
  std::int32_t layer_ = -1;    // the current one; -1: outside of all
  std::string stored_layer_;   // …and its name in the file
  std::int32_t nth_ = 0;       // of the current sublayers of a block in the layer
  std::int64_t number_ = 0;    // …and of its kind in the layer
  std::int64_t columns_ = 0;   // what the current sublayer reads
  std::int64_t identity_ = 0;  // identity experts beside those at hand
  bool flat_ = false;          // the experts at hand lie in one axis with their rows
  StoredLayout layout_;
};

}  // namespace reckon::stored
