// Gemma 3n and Gemma 4: layers that read tokens beside the stream, and keys and values of earlier layers.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "model/forms.h"

namespace reckon {

namespace {

// What both have of Gemma: a norm on both sides of each sublayer and of queries, keys and values, and scores that are
// not scaled.
Form stream_form(Fields& config, std::int64_t n_kv_heads, std::int64_t context) {
  Form form;
  form.activation = "gelu_pytorch_tanh";
  form.attention_bias = config.flag("attention_bias", false);
  form.n_kv_heads = n_kv_heads;
  form.d_head = 256;
  form.context = context;
  form.tied = true;
  form.norm_after = true;
  form.query_key_norm = true;
  form.rotary = false;  // by type of layer
  form.attention.scale = 1.0;
  form.attention.value_norm = form.norm;
  form.attention.value_norm->weight = false;
  form.attention.value_norm->epsilon = config.positive("rms_norm_eps", form.norm.epsilon);
  config.rename("hidden_act", {"hidden_activation"});
  config.ignore({"hidden_act"});
  return form;
}

// The last layers read the keys and values of the last one of their type before them.
void share_keys(Fields& config, Model& model, std::int64_t shared, const std::vector<bool>& slides) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  for (std::int64_t i = std::max<std::int64_t>(layers - shared, 0); i < layers && shared < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::int64_t from = layers - shared - 1;
    while (from >= 0 && slides[static_cast<std::size_t>(from)] != slides[at]) --from;
    if (from < 0)
      config.fail("num_kv_shared_layers", fmt::format("fewer, so that a layer of the type of layer {} has keys", i));
    Attention& attention = *find<Attention>(model.layers[at]);
    attention.kv_from = i - from;
    attention.key_bias = attention.value_bias = false;
  }
}

// Which layers see a window; these take it.
std::vector<bool> read_slides(Fields& config, Model& model, std::int64_t window, std::int64_t period, bool last_full) {
  read_windows(config, model, window, [=](std::int64_t layer) { return (layer + 1) % period != 0; });
  if (last_full) find<Attention>(model.layers.back())->window = 0;
  std::vector<bool> slides;
  for (std::size_t i = 0; i < model.layers.size(); ++i) slides.push_back(find<Attention>(model.layers[i])->window > 0);
  return slides;
}

// A sublayer at the end of each layer, and what all of them read; `d` 0: there is none.
void read_layer_inputs(Fields& config, Model& model) {
  const std::int64_t d = config.count("hidden_size_per_layer_input", 256, 0);
  const std::int64_t vocabulary = config.size("vocab_size_per_layer_input", 262144);
  if (d == 0) return;
  model.layer_inputs = {d, vocabulary, *model.final_norm};
  const Activation activation = first_feed_forward(model).activation;
  Sublayer sublayer{.kind = LayerInput{d, activation}, .norms = {}};
  sublayer.norms.after = model.final_norm;
  for (Layer& layer : model.layers) layer.sublayers.push_back(sublayer);
}

void name_streams(FamilyNames& names) {
  name_norms_after(names);
  names.mixtures = {{"router.proj", {.down = "experts.down_proj", .gate_up = "experts.gate_up_proj"}}};
  names.shared = names.feed_forward;
}

}  // namespace

std::map<std::size_t, std::string> read_layer_names(const Fields& each, std::size_t layers) {
  std::map<std::size_t, std::string> names;
  for (const auto& [name, value] : each.json().items()) {
    std::size_t layer = layers;
    const char* end = name.data() + name.size();
    const auto [last, error] = std::from_chars(name.data(), end, layer);
    if (error != std::errc{} || last != end || layer >= layers)
      each.refuse(fmt::format("{} is no layer; expected 0 to {}", each.spelled(name), layers - 1));
    names[layer] = name;
  }
  return names;
}

namespace {

// Sizes of single layers: what `per_layer_config` says of each, or of all that see everything.
void read_layer_sizes(Fields& config, Model& model, const std::vector<bool>& slides, bool keys_are_values) {
  const std::int64_t d_head = config.size("global_head_dim", 512);
  const std::int64_t n_kv_heads = config.count("num_global_key_value_heads", 0, 0);
  std::optional<Fields> each = config.object("per_layer_config");
  const auto names = each ? read_layer_names(*each, model.layers.size()) : std::map<std::size_t, std::string>();
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Attention& attention = *find<Attention>(model.layers[i]);
    if (const auto name = names.find(i); name != names.end()) {
      std::optional<Fields> own = each->object(name->second);
      if (!own) each->fail(name->second, "an object");
      attention.d_head = own->size("head_dim", attention.d_head);
      attention.n_kv_heads = own->size("num_key_value_heads", attention.n_kv_heads);
      if (const auto unread = own->unread(); !unread.empty())
        own->refuse(fmt::format("{} is not understood and could change the layer", unread.front().name));
    } else if (!each && !slides[i]) {
      attention.d_head = d_head;
      if (keys_are_values && n_kv_heads > 0) attention.n_kv_heads = n_kv_heads;
    }
    attention.d_value = attention.d_head;
    if (attention.n_heads % attention.n_kv_heads != 0)
      config.fail("num_attention_heads",
                  fmt::format("a multiple of the {} key heads of layer {}", attention.n_kv_heads, i));
  }
}

// RoPE of each type of layer, by the width of its heads.
void read_ropes(Fields& config, Model& model, const std::vector<bool>& slides) {
  std::map<std::int64_t, Ropes> by_width;
  const bool given = config.has("rope_parameters");
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Attention& attention = *find<Attention>(model.layers[i]);
    auto found = by_width.find(attention.d_head);
    if (found == by_width.end()) {
      Ropes ropes = read_rope(config, {1e6, 1.0, 1e4, false}, attention.d_head, model.context);
      if (!given) ropes.full.turned = attention.d_head / 8;
      found = by_width.emplace(attention.d_head, std::move(ropes)).first;
    }
    attention.rope = slides[i] ? found->second.sliding : found->second.full;
  }
}

// The feed-forward is every token's, beside the experts; each has norms of its own.
void read_gemma4_experts(Fields& config, Model& model) {
  if (!config.flag("enable_moe_block", false))
    return config.ignore({"num_experts", "top_k_experts", "moe_intermediate_size"});
  Mixture mixture;
  mixture.n_experts = config.size("num_experts");
  mixture.n_active = config.size("top_k_experts");
  if (mixture.n_active > mixture.n_experts)
    config.fail("top_k_experts", fmt::format("at most num_experts, {}", mixture.n_experts));
  mixture.normalize = true;
  mixture.own_norms = model.final_norm;
  mixture.router_scale = 1.0 / std::sqrt(static_cast<double>(model.d_model));
  mixture.expert_scale = true;
  for_each<Sublayer>(model.layers, [&](Sublayer& sublayer) {
    const auto* dense = std::get_if<FeedForward>(&sublayer.kind);
    if (dense == nullptr) return;
    mixture.shared = mixture.expert = *dense;
    mixture.expert.d_ff = config.size("moe_intermediate_size");
    sublayer.kind = mixture;
    sublayer.norms.before.reset();
  });
}

struct Gemma4 {
  std::int64_t context, window;
  bool inputs;  // and experts: what the unified model does not have
};

Model read_gemma4_form(Fields& config, const Gemma4& defaults) {
  if (const nlohmann::json* sees = config.value("use_bidirectional_attention"); sees && *sees != "vision")
    config.fail("use_bidirectional_attention", "null or vision: only causal models are supported");
  Model model = read_form(config, stream_form(config, 4, defaults.context));
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  model.head.softcap = config.number("final_logit_softcapping", 0.0, 0.0);
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  const std::vector<bool> slides =
      read_slides(config, model, config.count("sliding_window", defaults.window, 0), 6, true);
  read_layer_sizes(config, model, slides, keys_are_values);
  read_ropes(config, model, slides);
  const std::int64_t shared = config.count("num_kv_shared_layers", 0);
  if (shared > 0 && shared >= std::ssize(model.layers))
    config.fail("num_kv_shared_layers", fmt::format("less than num_hidden_layers, {}", model.layers.size()));
  share_keys(config, model, shared, slides);
  const bool wide = config.flag("use_double_wide_mlp", false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    Attention& attention = *find<Attention>(layer);
    attention.values_from_keys = keys_are_values && !slides[i];
    if (wide && attention.kv_from > 0) find<FeedForward>(layer)->d_ff *= 2;
    layer.scaled = true;
  }
  if (defaults.inputs) {
    read_gemma4_experts(config, model);
    read_layer_inputs(config, model);
  } else {
    config.expect_off("hidden_size_per_layer_input", "0: this family has no inputs of layers");
    config.expect_off("enable_moe_block", "false: this family has no experts");
    config.ignore({"vocab_size_per_layer_input"});  // of those inputs
  }
  return model;
}

Model read_gemma4_text(Fields& config) { return read_gemma4_form(config, {131072, 512, true}); }
Model read_gemma4_unified_text(Fields& config) { return read_gemma4_form(config, {262144, 1024, false}); }

// A number for each layer, or one for all.
std::vector<std::int64_t> read_widths(Fields& config, std::size_t layers) {
  const nlohmann::json* given = config.value("intermediate_size");
  if (given == nullptr || !given->is_array())
    return std::vector<std::int64_t>(layers, config.size("intermediate_size", 16384));
  std::vector<std::int64_t> widths;
  for (const nlohmann::json& one : *config.array("intermediate_size")) {
    if (!one.is_number_integer() || one < 1 || one > largest_size)
      config.fail("intermediate_size", "a whole number above zero for each layer");
    widths.push_back(one.get<std::int64_t>());
  }
  if (widths.size() != layers) config.fail("intermediate_size", fmt::format("{} entries, one per layer", layers));
  return widths;
}

std::vector<double> read_sparsity(Fields& config, std::size_t layers) {
  constexpr std::size_t sparse = 10;  // layers, by default
  std::vector<double> shares(layers, 0.0);
  if (!config.has("activation_sparsity_pattern")) {
    if (layers > sparse) std::fill_n(shares.begin(), sparse, 0.95);
    return shares;
  }
  shares = config.numbers("activation_sparsity_pattern");
  if (shares.size() != layers)
    config.fail("activation_sparsity_pattern", fmt::format("{} entries, one per layer", layers));
  return shares;
}

Model read_gemma3n_text(Fields& config) {
  Form form = stream_form(config, 2, 32768);
  form.d_ff = 1;  // by layer, below
  Model model = read_form(config, form);
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  model.head.softcap = config.number("final_logit_softcapping", 30.0, 0.0);
  const std::vector<bool> slides = read_slides(config, model, config.count("sliding_window", 512, 0), 5, false);
  const Ropes ropes = read_rope(config, {1e6, 1.0, 1e4, false}, first_attention(model).d_head, model.context);
  share_keys(config, model, config.count("num_kv_shared_layers", 15), slides);
  const std::vector<std::int64_t> widths = read_widths(config, model.layers.size());
  const std::vector<double> sparsity = read_sparsity(config, model.layers.size());
  const Laurel laurel{config.size("laurel_rank", 64), *model.final_norm};
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    layer.sublayers.front().laurel = laurel;
    find<Attention>(layer)->rope = slides[i] ? ropes.sliding : ropes.full;
    FeedForward& dense = *find<FeedForward>(layer);
    dense.d_ff = widths[i];
    dense.sparsity = sparsity[i];
  }
  read_layer_inputs(config, model);
  if (!model.layer_inputs) config.fail("hidden_size_per_layer_input", "a whole number above zero");
  model.altup = {config.size("altup_num_inputs", 4), config.count("altup_active_idx", 0), *model.final_norm,
                 config.flag("altup_correct_scale", true)};
  config.ignore({"altup_coef_clip"});  // holds coefficients back while a model is trained
  return model;
}

}  // namespace

std::vector<Family> stream_families() {
  return {
      {"gemma3n_text", read_gemma3n_text, {262400, 2048, 16384, 35, 8}, name_streams},
      {"gemma4_text", read_gemma4_text, {262144, 2304, 9216, 30, 8}, name_streams},
      {"gemma4_unified_text", read_gemma4_unified_text, {262144, 2304, 9216, 30, 8}, name_streams},
  };
}

}  // namespace reckon
