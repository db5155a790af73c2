// The LLaMA line: RoPE, mostly RMSNorm and gated feed-forwards, mostly no biases.
#include <fmt/format.h>

#include <cmath>

#include "model/families.h"

namespace reckon {

namespace {

// The window holds only where use_sliding_window says so.
std::int64_t used_window(Fields& config) {
  const bool used = config.flag("use_sliding_window", false);
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : 4096);
  return used ? window : 0;
}

// Qwen 2 and 3: the layers from max_window_layers on slide.
void read_upper_windows(Fields& config, Model& model) {
  const std::int64_t window = used_window(config);
  const std::int64_t first = config.count("max_window_layers", 28);
  read_windows(config, model, window, [=](std::int64_t layer) { return window > 0 && layer >= first; });
}

// Every layer slides, if there is a window.
void read_window_everywhere(Fields& config, Model& model, std::int64_t fallback) {
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : fallback);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.window = window; });
}

Form gemma_form(Fields& config, std::int64_t n_kv_heads) {
  Form form;
  form.norm.weight_plus_one = true;
  form.activation = "gelu_pytorch_tanh";
  form.attention_bias = config.flag("attention_bias", false);
  form.n_kv_heads = n_kv_heads;
  form.d_head = 256;
  form.context = 8192;
  form.tied = true;
  config.expect_off("use_bidirectional_attention", "false: only causal models are supported");
  return form;
}

// √d_model on the embedding, and tanh GELU: Gemma 1's first files say "gelu" and mean the approximation.
void finish_gemma(Model& model) {
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  for_each<FeedForward>(model.layers, [](FeedForward& feed_forward) {
    if (feed_forward.activation == Activation::gelu) feed_forward.activation = Activation::gelu_tanh;
  });
}

// Gemma 2 and 3: a norm on both sides of each sublayer, soft-caps, and a scale of their own.
void read_gemma2_layers(Fields& config, Model& model, double attention_cap, double logit_cap) {
  const double scale = 1.0 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  const auto cap = [&](const char* name, double fallback) {
    const double value = config.number(name, config.present(name) ? 0.0 : fallback);
    if (value < 0) config.fail(name, "a number above zero, or null");
    return value;
  };
  const double score_cap = cap("attn_logit_softcapping", attention_cap);
  model.head.softcap = cap("final_logit_softcapping", logit_cap);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.scale = scale;
    attention.softcap = score_cap;
  });
  for (Layer& layer : model.layers)
    for (Sublayer& sublayer : layer.sublayers) sublayer.norms.after = sublayer.norms.before;
}

Form layer_norm_form(const std::string& epsilon, bool bias) {
  Form form;
  form.norm = {Norm::Kind::layer, 1e-5, true, bias, false};
  form.epsilon = epsilon;
  return form;
}

}  // namespace

Model read_llama(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  return read_form(config, form);
}

Model read_arcee(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.activation = "relu2";
  form.gated = false;
  form.context = 4096;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  return read_form(config, form);
}

Model read_mistral(Fields& config) {
  Form form;
  form.n_kv_heads = 8;
  form.context = 131072;
  Model model = read_form(config, form);
  read_window_everywhere(config, model, 4096);
  return model;
}

Model read_qwen2(Fields& config) {
  config.ignore({"qkv_bias"});  // there always are some
  Form form;
  form.n_kv_heads = 32;
  form.context = 32768;
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [](Attention& attention) { set_attention_bias(attention, true, false); });
  read_upper_windows(config, model);
  return model;
}

Model read_qwen3(Fields& config) {
  Form form;
  form.n_kv_heads = 32;
  form.d_head = 128;
  form.context = 32768;
  form.attention_bias = config.flag("attention_bias", false);
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.query_key_norm = model.final_norm; });
  read_upper_windows(config, model);
  return model;
}

Model read_gemma(Fields& config) {
  // hidden_activation was added beside a hidden_act that meant the same; where both are there it holds.
  if (config.has("hidden_activation")) {
    config.rename("hidden_act", {"hidden_activation"});
    config.ignore({"hidden_act"});
  }
  Model model = read_form(config, gemma_form(config, 16));
  finish_gemma(model);
  return model;
}

Model read_gemma2(Fields& config) {
  config.rename("hidden_act", {"hidden_activation"});
  config.ignore({"hidden_act"});
  Model model = read_form(config, gemma_form(config, 4));
  finish_gemma(model);
  read_gemma2_layers(config, model, 50.0, 30.0);
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : 4096);
  read_windows(config, model, window, [](std::int64_t layer) { return layer % 2 == 0; });
  config.ignore({"sliding_window_size", "cache_implementation"});  // the window again; how a cache is laid out
  return model;
}

Model read_gemma3_text(Fields& config) {
  config.rename("hidden_act", {"hidden_activation"});
  config.rename("sliding_window_pattern", {"sliding_window_pattern", "_sliding_window_pattern"});
  config.ignore({"hidden_act", "cache_implementation"});
  Form form = gemma_form(config, 4);
  form.context = 131072;
  form.rope = {1e6, 1.0, 1e4, false};
  Model model = read_form(config, form);
  finish_gemma(model);
  read_gemma2_layers(config, model, 0.0, 0.0);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.query_key_norm = model.final_norm; });
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : 4096);
  const std::int64_t pattern = config.size("sliding_window_pattern", 6);
  const Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  read_windows(
      config, model, window, [=](std::int64_t layer) { return (layer + 1) % pattern != 0; }, &ropes);
  return model;
}

Model read_phi3(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.context = 4096;
  Model model = read_form(config, form);
  read_window_everywhere(config, model, 0);
  config.expect_off("lm_head_bias", "false: phi3 has no such bias");
  config.expect_size("full_attn_mod", 1, "1: every layer alike");
  config.expect_size("interpolate_factor", 1, "1");
  return model;
}

Model read_olmo2(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  Model model = read_form(config, form);
  for (Layer& layer : model.layers)
    for (Sublayer& sublayer : layer.sublayers) sublayer.norms.after.swap(sublayer.norms.before);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.query_key_norm = model.final_norm;
    attention.norm_span = Attention::NormSpan::all_heads;
  });
  return model;
}

Model read_starcoder2(Fields& config) {
  Form form = layer_norm_form("norm_epsilon", true);
  form.activation = "gelu_pytorch_tanh";
  form.gated = false;
  form.attention_bias = form.feed_forward_bias = config.flag("use_bias", true);
  form.n_kv_heads = 2;
  form.context = 4096;
  form.tied = true;
  Model model = read_form(config, form);
  read_window_everywhere(config, model, 0);
  config.expect_word("norm_type", "layer_norm", "layer_norm");
  config.expect_word("mlp_type", "default", "default");
  // Repetitions under GPT-2's names, and precision.
  config.ignore({"activation_function", "layer_norm_epsilon", "attention_softmax_in_fp32",
                 "scale_attention_softmax_in_fp32", "scale_attn_weights"});
  return model;
}

Model read_stablelm(Fields& config) {
  config.rename("layer_norm_eps", {"layer_norm_eps", "norm_eps"});
  config.rename("partial_rotary_factor", {"partial_rotary_factor", "rope_pct"});
  Form form = layer_norm_form("layer_norm_eps", true);
  form.rope.fraction = 0.25;
  form.n_kv_heads = 32;
  form.context = 4096;
  Model model = read_form(config, form);
  const bool bias = config.flag("use_qkv_bias", false);
  const bool query_key_norm = config.flag("qk_layernorm", false);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    set_attention_bias(attention, bias, false);
    if (!query_key_norm) return;
    attention.query_key_norm = model.final_norm;
    attention.query_key_norm->bias = false;
    attention.norm_span = Attention::NormSpan::own_head;
  });
  if (config.flag("use_parallel_residual", false)) set_parallel(model, true);
  return model;
}

Model read_cohere(Fields& config) {
  Form form = layer_norm_form("layer_norm_eps", false);
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 500000.0;
  form.rope.interleaved = true;
  form.context = 8192;
  form.tied = true;
  Model model = read_form(config, form);
  model.head.scale = config.positive("logit_scale", 0.0625);
  set_parallel(model, true);
  if (config.flag("use_qk_norm", false))
    for_each<Attention>(model.layers, [&](Attention& attention) {
      attention.query_key_norm = model.final_norm;
      attention.norm_span = Attention::NormSpan::own_head;
    });
  return model;
}

Model read_granite(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  Model model = read_form(config, form);
  model.embedding_scale = config.positive("embedding_multiplier", 1.0);
  model.head.scale = 1.0 / config.positive("logits_scaling", 1.0);
  const double scale = config.positive("attention_multiplier", 1.0);
  const double residual = config.positive("residual_multiplier", 1.0);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.scale = scale; });
  for (Layer& layer : model.layers)
    for (Sublayer& sublayer : layer.sublayers) sublayer.residual_scale = residual;
  return model;
}

}  // namespace reckon
