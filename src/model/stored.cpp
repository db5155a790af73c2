// Every matrix goes through one description (parts, groups, transposed or not), so that a family is only names.
#include "model/stored.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <optional>
#include <string_view>
#include <utility>

#include "files/checked.h"
#include "files/quote.h"
#include "files/safetensors.h"
#include "model/stored_names.h"

namespace reckon {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) { return checked_multiply(a, b, "the size of a stored tensor"); }

std::int64_t plus(std::int64_t a, std::int64_t b) { return checked_add(a, b, "the size of a stored tensor"); }

std::string numbered(std::string_view pattern, std::int64_t number) {
  return fmt::format(fmt::runtime(pattern), number);
}

// A linear layer's matrix (out × in), or several whose rows share a tensor.
struct Part {
  std::string parameter;
  std::int64_t rows;  // in each group
  bool bias;
};
struct Linear {
  std::vector<Part> parts;
  std::int64_t columns;
  std::int64_t groups = 1;  // the rows go group by group, in each of them part by part
  bool transposed = false;  // stored in × out
};

class Writer {
 public:
  Writer(const Model& model, const StoredNames& present)
      : model_(model), names_(names_of_family(model.family)), present_(present) {
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
    plain("embedding.token.weight", body(names_.token_embedding), {model_.vocab_size, model_.d_embedding});
    if (model_.positions.kind == Positions::Kind::learned)
      plain("embedding.position.weight", body(names_.position_embedding),
            {plus(model_.context, model_.positions.extra_rows), d});
    if (projects) linear({{{"embedding.project", d, false}}, model_.d_embedding}, body(names_.embedding_project));
    norm(model_.embedding_norm, "embedding.norm", body(names_.embedding_norm), {d});
    for (std::size_t n = 0; n < model_.layers.size(); ++n) layer(static_cast<std::int64_t>(n));
    norm(model_.final_norm, "final_norm", body(names_.final_norm), {d});
    if (projects) linear({{{"head.project", model_.d_embedding, false}}, d}, body(names_.head_project));
    head();
    return std::move(layout_);
  }

 private:
  bool has(const std::string& name) const { return present_.contains(name); }

  // The name in the file of a module outside of the layers, or of one inside layer n. No name stays none.
  std::string body(std::string_view name) const { return name.empty() ? "" : prefix_ + std::string(name); }
  std::string in_layer(std::string_view name) const { return name.empty() ? "" : stored_layer_ + std::string(name); }

  void add_tensor(const std::string& name, std::vector<std::int64_t> shape) {
    layout_.tensors.push_back({name, std::move(shape)});
  }

  void require_name(const std::string& stored, const std::string& parameter) const {
    if (stored.empty())
      throw Error(fmt::format("{} has {}, which files of the family {} have no name for", quote(model_.name), parameter,
                              quote(model_.family)));
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

  void exact(const std::string& parameter, const std::string& tensor, const std::vector<std::int64_t>& shape) {
    require_name(tensor, parameter);
    layout_.parameters.push_back({parameter, shape, {whole(tensor, shape)}});
    add_tensor(tensor, shape);
  }

  // `module` is named without ".weight".
  void plain(const std::string& parameter, const std::string& module, const std::vector<std::int64_t>& shape) {
    require_name(module, parameter);
    exact(parameter, module + ".weight", shape);
  }

  void norm(const std::optional<Norm>& norm, const std::string& parameter, const std::string& module,
            const std::vector<std::int64_t>& shape) {
    if (!norm) return;
    require_name(module, parameter);
    if (norm->weight) exact(parameter + ".weight", module + ".weight", shape);
    if (norm->bias) exact(parameter + ".bias", module + ".bias", shape);
  }

  // Where each part lies in a tensor of all of them, whose first axis may count experts (0: no such axis).
  // Biases are laid out like rows of one element.
  struct Placed {
    std::vector<StoredView> views;    // one per part
    std::vector<std::int64_t> shape;  // of the tensor
  };
  static Placed place(const Linear& linear, const std::string& tensor, bool bias, std::int64_t experts) {
    std::int64_t group_rows = 0;
    for (const Part& part : linear.parts) group_rows = plus(group_rows, part.rows);
    const std::int64_t rows = times(linear.groups, group_rows);
    const std::int64_t row_stride = bias || linear.transposed ? 1 : linear.columns;
    Placed placed;
    if (experts) placed.shape.push_back(experts);
    if (bias)
      placed.shape.push_back(rows);
    else if (linear.transposed)
      placed.shape.insert(placed.shape.end(), {linear.columns, rows});
    else
      placed.shape.insert(placed.shape.end(), {rows, linear.columns});

    std::int64_t first_row = 0;
    for (const Part& part : linear.parts) {
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
  static std::vector<std::int64_t> shape_of(const Linear& linear, const Part& part, bool bias, std::int64_t experts) {
    std::vector<std::int64_t> shape;
    if (experts) shape.push_back(experts);
    shape.push_back(times(linear.groups, part.rows));
    if (!bias) shape.push_back(linear.columns);
    return shape;
  }

  // Adds the weights, or the biases, of all parts from the tensors (one, or one for each expert) of that name.
  void add(const Linear& linear, std::string_view tensor, bool bias, std::int64_t experts = 0) {
    const bool one_by_one = tensor.find("{}") != std::string_view::npos;
    std::vector<StoredParameter> parameters;
    for (const Part& part : linear.parts)
      parameters.push_back({part.parameter + (bias ? ".bias" : ".weight"), shape_of(linear, part, bias, experts), {}});
    for (std::int64_t i = 0; i < (one_by_one ? experts : 1); ++i) {
      const std::string name = one_by_one ? numbered(tensor, i) : std::string(tensor);
      Placed placed = place(linear, name, bias, one_by_one ? 0 : experts);
      for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].views.push_back(std::move(placed.views[p]));
      add_tensor(name, std::move(placed.shape));
    }
    for (StoredParameter& parameter : parameters) layout_.parameters.push_back(std::move(parameter));
  }

  bool has_bias(const Linear& linear) const {
    for (const Part& part : linear.parts)
      if (part.bias != linear.parts.front().bias)
        throw Error(
            fmt::format("{} has a bias on only one of {} and {}, which share a tensor in files of the family {}",
                        quote(model_.name), linear.parts.front().parameter, part.parameter, quote(model_.family)));
    return linear.parts.front().bias;
  }

  void linear(const Linear& linear, const std::string& module) {
    require_name(module, linear.parts.front().parameter);
    add(linear, module + ".weight", false);
    if (has_bias(linear)) add(linear, module + ".bias", true);
  }

  void layer(std::int64_t n) {
    const Layer& layer = model_.layers[static_cast<std::size_t>(n)];
    scope_ = fmt::format("layers.{}.", n);
    stored_layer_ = prefix_ + numbered(names_.layer, n);
    const bool own_norms = layer.parallel && !layer.shared_norm && !names_.parallel_attention_norm.empty();
    const std::vector<std::int64_t> d{model_.d_model};

    const auto norms = [&](const SublayerNorms& around, const std::string& sublayer, std::string_view before,
                           std::string_view after, std::string_view residual) {
      norm(around.before, scope_ + sublayer + ".norm", in_layer(before), d);
      norm(around.after, scope_ + sublayer + ".norm_after", in_layer(after), d);
      norm(around.residual, scope_ + sublayer + ".norm_residual", in_layer(residual), d);
    };
    norms(layer.attention_norms, "attention", own_norms ? names_.parallel_attention_norm : names_.attention_norm,
          names_.attention_norm_after, names_.attention_norm_residual);
    if (layer.attention.latent)
      latent_attention(layer.attention);
    else
      attention(layer.attention);
    output(layer.attention);
    if (layer.cross_attention) cross_attention(*layer.cross_attention);

    SublayerNorms around = layer.feed_forward_norms;
    if (layer.shared_norm) around.before.reset();
    norms(around, "feed_forward", own_norms ? names_.parallel_feed_forward_norm : names_.feed_forward_norm,
          names_.feed_forward_norm_after, names_.feed_forward_norm_residual);
    if (layer.mixture)
      mixture(layer.feed_forward, *layer.mixture);
    else
      feed_forward(layer.feed_forward, scope_ + "feed_forward.", names_.gate_up, names_.gate, names_.up, names_.down);
  }

  void attention(const Attention& a) {
    const std::string scope = scope_ + "attention.";
    const Part query{scope + "query", times(a.n_heads, a.d_head), a.query_bias};
    const Part key{scope + "key", times(a.n_kv_heads, a.d_head), a.key_bias};
    const Part value{scope + "value", times(a.n_kv_heads, a.d_value), a.value_bias};
    const std::int64_t d = model_.d_model;
    if (names_.query_key_value.empty()) {
      linear({{query}, d, 1, names_.transposed}, in_layer(names_.query));
      linear({{key}, d, 1, names_.transposed}, in_layer(names_.key));
      linear({{value}, d, 1, names_.transposed}, in_layer(names_.value));
    } else {
      Linear fused{{query, key, value}, d, 1, names_.transposed};
      if (names_.by_group && a.n_kv_heads > 0) {
        fused.groups = a.n_kv_heads;
        for (Part& part : fused.parts) part.rows /= a.n_kv_heads;
      }
      linear(fused, in_layer(names_.query_key_value));
    }
    if (a.query_key_norm) {
      head_norm(a, scope + "query_norm", names_.query_norm, a.n_heads);
      head_norm(a, scope + "key_norm", names_.key_norm, a.n_kv_heads);
    }
    if (a.sinks) exact(scope + "sinks.weight", in_layer(names_.sinks), {a.n_heads});
  }

  void head_norm(const Attention& a, const std::string& parameter, std::string_view module, std::int64_t heads) {
    std::vector<std::int64_t> shape{a.d_head};
    if (a.norm_span == Attention::NormSpan::own_head) shape = {heads, a.d_head};
    if (a.norm_span == Attention::NormSpan::all_heads) shape = {times(heads, a.d_head)};
    const std::string stored = in_layer(module);
    if (stored.find("{}") == std::string::npos) return norm(a.query_key_norm, parameter, stored, shape);
    // A tensor for each head, laid end to end.
    const auto add_heads = [&](const std::string& suffix) {
      StoredParameter all{parameter + suffix, shape, {}};
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::string name = numbered(stored, head) + suffix;
        all.views.push_back(whole(name, {a.d_head}));
        add_tensor(name, {a.d_head});
      }
      layout_.parameters.push_back(std::move(all));
    };
    if (a.query_key_norm->weight) add_heads(".weight");
    if (a.query_key_norm->bias) add_heads(".bias");
  }

  void latent_attention(const Attention& a) {
    const Latent& latent = *a.latent;
    const std::string scope = scope_ + "attention.";
    const std::int64_t d = model_.d_model;
    const std::int64_t queries = times(a.n_heads, plus(latent.d_nope, latent.d_rope));
    if (latent.query_rank == 0) {
      linear({{{scope + "query", queries, a.query_bias}}, d}, in_layer(names_.query));
    } else {
      linear({{{scope + "query_down", latent.query_rank, latent.down_bias}}, d}, in_layer(names_.query_down));
      norm(latent.norm, scope + "query_down_norm", in_layer(names_.query_down_norm), {latent.query_rank});
      linear({{{scope + "query_up", queries, false}}, latent.query_rank}, in_layer(names_.query_up));
    }
    linear({{{scope + "kv_down", plus(latent.kv_rank, latent.d_rope), latent.down_bias}}, d}, in_layer(names_.kv_down));
    norm(latent.norm, scope + "kv_down_norm", in_layer(names_.kv_down_norm), {latent.kv_rank});
    linear({{{scope + "kv_up", times(a.n_heads, plus(latent.d_nope, a.d_value)), false}}, latent.kv_rank},
           in_layer(names_.kv_up));
  }

  void output(const Attention& a) {
    linear({{{scope_ + "attention.output", model_.d_model, a.output_bias}},
            times(a.n_heads, a.d_value),
            1,
            names_.transposed},
           in_layer(names_.output));
  }

  void cross_attention(const CrossAttention& cross) {
    const std::string scope = scope_ + "cross_attention.";
    const std::int64_t d = model_.d_model, inner = times(cross.n_heads, cross.d_head);
    const bool t = names_.transposed;
    norm(cross.norm, scope + "norm", in_layer(names_.cross_norm), {d});
    linear({{{scope + "query", inner, cross.bias}}, d, 1, t}, in_layer(names_.cross_query));
    linear({{{scope + "key", inner, cross.bias}, {scope + "value", inner, cross.bias}}, d, 1, t},
           in_layer(names_.cross_key_value));
    linear({{{scope + "output", d, cross.bias}}, inner, 1, t}, in_layer(names_.cross_output));
  }

  void feed_forward(const FeedForward& f, const std::string& scope, std::string_view gate_up, std::string_view gate,
                    std::string_view up, std::string_view down) {
    const Part gate_part{scope + "gate", f.d_ff, f.bias}, up_part{scope + "up", f.d_ff, f.bias};
    const std::int64_t d = model_.d_model;
    const bool t = names_.transposed;
    if (f.gated && !gate_up.empty()) {
      linear({{gate_part, up_part}, d, 1, t}, in_layer(gate_up));
    } else {
      if (f.gated) linear({{gate_part}, d, 1, t}, in_layer(gate));
      linear({{up_part}, d, 1, t}, in_layer(up));
    }
    linear({{{scope + "down", d, f.bias}}, f.d_ff, 1, t}, in_layer(down));
  }

  void mixture(const FeedForward& expert, const Mixture& mixture) {
    const std::string scope = scope_ + "feed_forward.";
    const std::int64_t d = model_.d_model;
    if (names_.mixtures.empty()) require_name("", scope + "experts");
    const MixtureNames& form = mixture_form();
    linear({{{scope + "router", mixture.n_experts, mixture.router_bias}}, d}, in_layer(form.router));
    if (mixture.correction_bias) {
      exact(scope + "correction.bias", in_layer(names_.correction), {mixture.n_experts});
      layout_.buffers.push_back(std::move(layout_.parameters.back()));
      layout_.parameters.pop_back();
    }

    // Fused tensors are parameters themselves and carry no ".weight".
    const auto experts = [&](const Linear& linear, std::string_view name) {
      const std::string stored = in_layer(name);
      require_name(stored, linear.parts.front().parameter);
      const bool one_by_one = name.find("{}") != std::string_view::npos;
      add(linear, stored + (one_by_one ? ".weight" : ""), false, mixture.n_experts);
      if (expert.bias) add(linear, stored + (one_by_one ? ".bias" : "_bias"), true, mixture.n_experts);
    };
    const Part gate{scope + "experts.gate", expert.d_ff, expert.bias},
        up{scope + "experts.up", expert.d_ff, expert.bias};
    if (form.interleaved) {
      Linear both{{gate, up}, d, expert.d_ff, true};
      for (Part& part : both.parts) part.rows = 1;
      experts(both, form.gate_up);
    } else if (!form.gate_up.empty() && expert.gated) {
      experts({{gate, up}, d}, form.gate_up);
    } else {
      if (expert.gated) experts({{gate}, d}, form.gate);
      experts({{up}, d}, form.up);
    }
    experts({{{scope + "experts.down", d, expert.bias}}, expert.d_ff, 1, form.interleaved}, form.down);

    if (mixture.shared)
      feed_forward(*mixture.shared, scope + "shared.", {}, names_.shared_gate, names_.shared_up, names_.shared_down);
  }

  // The form of which this layer's first tensor is there.
  const MixtureNames& mixture_form() const {
    for (const MixtureNames& form : names_.mixtures) {
      const std::string down = in_layer(form.down);
      if (down.find("{}") == std::string::npos ? has(down) : has(numbered(down, 0) + ".weight")) return form;
    }
    return names_.mixtures.front();
  }

  void head() {
    std::string module(names_.heads.front());
    for (const std::string_view name : names_.heads)
      if (has(fmt::format("{}.weight", name))) module = name;
    if (!model_.head.tied)
      plain("head.weight", module, {model_.vocab_size, model_.d_embedding});
    else
      for (const std::string_view name : names_.heads) layout_.tied_heads.push_back(fmt::format("{}.weight", name));
    if (model_.head.bias) exact("head.bias", module + ".bias", {model_.vocab_size});
  }

  const Model& model_;
  FamilyNames names_;
  const StoredNames& present_;
  std::string prefix_;        // in the file, of everything but the head
  std::string scope_;         // "layers.N.": the program's name of the current layer
  std::string stored_layer_;  // …and the file's
  StoredLayout layout_;
};

}  // namespace

StoredLayout stored_layout(const Model& model, const StoredNames& present) { return Writer(model, present).write(); }

StoredLayout stored_layout(const Model& model, const SafetensorsHeader& header) {
  StoredNames present;
  for (const StoredTensorInfo& tensor : header.tensors) present.insert(tensor.name);
  return stored_layout(model, present);
}

}  // namespace reckon
