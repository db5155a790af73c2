// The part of a config.json that nearly all families share.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "model/families.h"
#include "model/validate.h"

namespace reckon {

namespace {

// A missing field takes the family's default, a null asks for what follows from the other sizes.
std::int64_t derived(Fields& config, const std::string& name, std::int64_t family_default, std::int64_t following) {
  const bool null = config.present(name) && !config.has(name);
  return config.size(name, null || family_default == 0 ? following : family_default);
}

}  // namespace

Activation read_activation(Fields& config, const std::string& field, const std::string& fallback) {
  static const std::map<std::string, Activation> words = {
      {"gelu", Activation::gelu},           {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"gelu_accurate", Activation::gelu_tanh},
      {"relu", Activation::relu},           {"relu2", Activation::relu_squared},
      {"silu", Activation::silu},           {"swish", Activation::silu},
  };
  const auto known = words.find(config.word(field, fallback));
  if (known == words.end()) config.fail(field, "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, relu2 or silu");
  return known->second;
}

void set_attention_bias(Attention& attention, bool query_key_value, bool output) {
  attention.query_bias = attention.key_bias = attention.value_bias = query_key_value;
  attention.output_bias = output;
}

void set_parallel(Model& model, bool one_norm) {
  for (Layer& layer : model.layers)
    for (std::size_t i = 1; i < layer.sublayers.size(); ++i) {
      Sublayer& sublayer = layer.sublayers[i];
      sublayer.reads = one_norm ? Sublayer::Reads::first : Sublayer::Reads::entry;
      if (one_norm) sublayer.norms.before.reset();
    }
}

void set_mixture(Layer& layer, const Mixture& mixture) {
  for (Sublayer& sublayer : layer.sublayers)
    if (std::holds_alternative<FeedForward>(sublayer.kind)) sublayer.kind = mixture;
}

Model read_form(Fields& config, const Form& form) {
  Model model;
  model.d_model = config.size("hidden_size");
  model.d_embedding = model.d_model;
  model.vocab_size = config.size("vocab_size");
  model.context = config.size("max_position_embeddings", form.context);
  model.head.tied = config.flag("tie_word_embeddings", form.tied);

  const std::int64_t n_layers = config.size_up_to("num_hidden_layers", most_layers);

  Attention attention;
  attention.n_heads = config.size("num_attention_heads");
  attention.n_kv_heads = derived(config, "num_key_value_heads", form.n_kv_heads, attention.n_heads);
  if (attention.n_heads % attention.n_kv_heads != 0)
    config.refuse(fmt::format("{} is {}, which does not divide {}, {}", config.spelled("num_key_value_heads"),
                              attention.n_kv_heads, config.spelled("num_attention_heads"), attention.n_heads));
  attention.d_head = derived(config, "head_dim", form.d_head, 0);
  if (attention.d_head == 0) {
    if (model.d_model % attention.n_heads != 0)
      config.refuse(fmt::format("{} is {}, which does not divide {}, {}; expected a divisor, or head_dim",
                                config.spelled("num_attention_heads"), attention.n_heads, config.spelled("hidden_size"),
                                model.d_model));
    attention.d_head = model.d_model / attention.n_heads;
  }
  attention.d_value = attention.d_head;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.d_head));
  set_attention_bias(attention, form.attention_bias, form.attention_bias);
  // Files of families without these fields may still say that there are no such biases.
  if (!form.attention_bias) config.expect_off("attention_bias", "false: this family has no such biases");
  if (!form.feed_forward_bias) config.expect_off("mlp_bias", "false: this family has no such biases");
  if (form.rotary) attention.rope = read_rope(config, form.rope, attention.d_head, model.context).full;

  FeedForward feed_forward;
  feed_forward.d_ff = form.widening > 0 ? config.size("intermediate_size", form.widening * model.d_model)
                                        : config.size("intermediate_size");
  feed_forward.activation = read_activation(config, "hidden_act", form.activation);
  feed_forward.gated = form.gated;
  feed_forward.bias = form.feed_forward_bias;

  Norm norm = form.norm;
  if (!form.epsilon.empty()) norm.epsilon = config.positive(form.epsilon, form.norm.epsilon);
  model.final_norm = norm;

  Layer layer;
  for (const Sublayer::Kind& kind : {Sublayer::Kind(attention), Sublayer::Kind(feed_forward)})
    layer.sublayers.push_back({.kind = kind, .norms = {.before = norm, .after = {}, .residual = {}}});
  model.layers.assign(static_cast<std::size_t>(n_layers), layer);
  return model;
}

void read_windows(Fields& config, Model& model, std::int64_t window, const std::function<bool(std::int64_t)>& slides,
                  const Ropes* ropes) {
  const nlohmann::json* types = config.array("layer_types");
  if (types && types->size() != model.layers.size())
    config.fail("layer_types", fmt::format("{} entries, one per layer", model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    bool slide = slides(static_cast<std::int64_t>(i));
    if (types) {
      const nlohmann::json& type = (*types)[i];
      slide = type == "sliding_attention";
      if (!slide && type != "full_attention")
        config.refuse(
            fmt::format("layer_types[{}] is {}; expected full_attention or sliding_attention", i, describe(type)));
      if (slide && window == 0)
        config.fail("sliding_window", "a whole number, because layer_types names sliding layers");
    }
    Attention& attention = *find<Attention>(model.layers[i]);
    if (slide) attention.window = window;
    if (ropes) attention.rope = slide ? ropes->sliding : ropes->full;
  }
}

}  // namespace reckon
