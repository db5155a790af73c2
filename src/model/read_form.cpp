// The part of a config.json that nearly all families share.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "model/families.h"
#include "model/validate.h"

namespace reckon {

namespace {

Activation read_activation(Fields& config, Text fallback) {
  static const std::map<std::string, Activation> words = {
      {"gelu", Activation::gelu},           {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"gelu_accurate", Activation::gelu_tanh},
      {"relu", Activation::relu},           {"relu2", Activation::relu_squared},
      {"silu", Activation::silu},           {"swish", Activation::silu},
      {"xielu", Activation::xielu},
  };
  const auto known = words.find(config.word("hidden_act", fallback));
  if (known == words.end())
    config.fail("hidden_act", "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, relu2 or silu");
  return known->second;
}

// A missing head size takes the family's default, a null asks for what follows from the other sizes.
Attention read_attention(Fields& config, const Form& form, const Norm& norm, const Model& model) {
  Attention attention = form.attention;
  attention.n_heads = config.size("num_attention_heads");
  attention.n_kv_heads =
      config.size("num_key_value_heads", form.n_kv_heads != 0 ? form.n_kv_heads : attention.n_heads, attention.n_heads);
  if (attention.n_heads % attention.n_kv_heads != 0)
    config.refuse(fmt::format("{} is {}, which does not divide {}, {}", config.spelled("num_key_value_heads"),
                              attention.n_kv_heads, config.spelled("num_attention_heads"), attention.n_heads));
  attention.d_head = config.size("head_dim", form.d_head, 0);
  if (attention.d_head == 0) {
    if (model.d_model % attention.n_heads != 0)
      config.refuse(fmt::format("{} is {}, which does not divide {}, {}; expected a divisor, or head_dim",
                                config.spelled("num_attention_heads"), attention.n_heads, config.spelled("hidden_size"),
                                model.d_model));
    attention.d_head = model.d_model / attention.n_heads;
  }
  if (attention.d_value == 0) attention.d_value = attention.d_head;
  if (attention.scale == 0.0) attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.d_head));
  attention.query_bias = attention.key_bias = attention.value_bias = form.qkv_bias.value_or(form.attention_bias);
  attention.output_bias = form.attention_bias;
  if (form.query_key_norm) {
    attention.query_key_norm = norm;
    if (attention.norm_span == Attention::NormSpan::own_head) attention.query_key_norm->bias = false;
  }
  const bool part = attention.latent && !form.rope.of_whole_head;
  const std::int64_t rotated = part ? attention.latent->d_rope : attention.d_head;
  if (form.rotary) attention.rope = read_rope(config, form.rope, rotated, model.context).full;
  return attention;
}

FeedForward read_feed_forward(Fields& config, const Form& form, std::int64_t d_model) {
  FeedForward feed_forward;
  feed_forward.d_ff = form.d_ff;
  if (form.d_ff == 0)
    feed_forward.d_ff = form.widening > 0 ? config.size("intermediate_size", form.widening * d_model)
                                          : config.size("intermediate_size");
  feed_forward.activation = read_activation(config, form.activation);
  feed_forward.gated = form.gated;
  feed_forward.bias = form.feed_forward_bias;
  return feed_forward;
}

}  // namespace

Model read_form(Fields& config, const Form& form) {
  Model model;
  model.d_model = config.size("hidden_size");
  model.d_embedding = model.d_model;
  model.vocab_size = config.size("vocab_size");
  model.context = config.size("max_position_embeddings", form.context);
  model.head.tied = config.flag("tie_word_embeddings", form.tied);
  const std::int64_t n_layers = config.size_up_to("num_hidden_layers", most_layers);
  // Files of families without these fields may still say that there are no such biases.
  if (!form.attention_bias) config.expect_off("attention_bias", "false: this family has no such biases");
  if (!form.feed_forward_bias) config.expect_off("mlp_bias", "false: this family has no such biases");
  Norm norm = form.norm;
  if (!form.epsilon_field.empty()) norm.epsilon = config.positive(form.epsilon_field, form.norm.epsilon);
  model.final_norm = norm;

  Sublayer attention{.kind = read_attention(config, form, norm, model), .norms = {}};
  attention.residual_scale = form.residual_scale;
  if (form.norm_before) attention.norms.before = norm;
  if (form.norm_after) attention.norms.after = norm;
  if (form.norm_residual) attention.norms.residual = norm;
  Sublayer feed_forward = attention;
  feed_forward.kind = read_feed_forward(config, form, model.d_model);
  feed_forward.reads = form.feed_forward_reads;
  if (feed_forward.reads == Sublayer::Reads::first) feed_forward.norms.before.reset();
  model.layers.assign(static_cast<std::size_t>(n_layers), Layer{.sublayers = {attention, feed_forward}});
  return model;
}

void read_bias(Fields& config, Form& form, Text name, bool fallback) {
  config.rename("attention_bias", {name});
  config.rename("mlp_bias", {name});
  form.attention_bias = form.feed_forward_bias = config.flag(name, fallback);
}

std::int64_t read_used_window(Fields& config) {
  const bool used = config.flag("use_sliding_window", false);
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  return used ? window : 0;
}

void read_windows(Fields& config, Model& model, std::int64_t window, const LayerRule& slides, const Ropes* ropes) {
  const nlohmann::json* types = config.array("layer_types");
  // Layers that predict further tokens may have their entries behind those of the stack.
  const std::size_t layers = model.layers.size();
  const auto further = static_cast<std::size_t>(config.count("num_nextn_predict_layers", 0));
  if (types && types->size() != layers && types->size() != layers + further)
    config.fail("layer_types", fmt::format("{} entries, one per layer", layers));
  for (std::size_t i = 0; types && i < types->size(); ++i)
    if ((*types)[i] != "sliding_attention" && (*types)[i] != "full_attention")
      config.refuse(
          fmt::format("layer_types[{}] is {}; expected full_attention or sliding_attention", i, describe((*types)[i])));
  for (std::size_t i = 0; i < layers; ++i) {
    bool slide = slides(static_cast<std::int64_t>(i));
    if (types) {
      slide = (*types)[i] == "sliding_attention";
      if (slide && window == 0)
        config.fail("sliding_window", "a whole number, because layer_types names sliding layers");
    }
    Attention& attention = *find<Attention>(model.layers[i]);
    if (slide) attention.window = window;
    if (ropes) attention.rope = slide ? ropes->sliding : ropes->full;
  }
}

}  // namespace reckon
