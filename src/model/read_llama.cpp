// The LLaMA line: RoPE, mostly RMSNorm and gated feed-forwards, mostly no biases.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

// Qwen 2 and 3: the layers from max_window_layers on slide.
void read_upper_windows(Fields& config, Model& model) {
  const std::int64_t window = read_used_window(config);
  const std::int64_t first = config.count("max_window_layers", 28);
  read_windows(config, model, window, [=](std::int64_t layer) { return window > 0 && layer >= first; });
}

}  // namespace

Form llama_form(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  return form;
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

namespace {

// √d_model on the embedding, and tanh GELU: Gemma 1's first files say "gelu" and mean the approximation.
Model read_gemma_form(Fields& config, const Form& form) {
  Model model = read_form(config, form);
  model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  for_each<FeedForward>(model.layers, [](FeedForward& feed_forward) {
    if (feed_forward.activation == Activation::gelu) feed_forward.activation = Activation::gelu_tanh;
  });
  return model;
}

}  // namespace

// Gemma 2 and 3: a norm on both sides of each sublayer, soft caps, and a scale of their own. These are their defaults.
Model read_gemma2_form(Fields& config, Form form, Caps caps) {
  const auto cap = [&](const char* name, double fallback) {
    const double value = config.number(name, fallback, 0.0);
    if (value < 0) config.fail(name, "a number above zero, or null");
    return value;
  };
  config.rename("hidden_act", {"hidden_activation"});
  config.ignore({"hidden_act"});
  form.norm_after = true;
  form.attention.scale = 1.0 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  form.attention.softcap = cap("attn_logit_softcapping", caps.scores);
  Model model = read_gemma_form(config, form);
  model.head.softcap = cap("final_logit_softcapping", caps.logits);
  return model;
}

Form layer_norm_form(Text epsilon_field, bool bias) {
  Form form;
  form.norm = {Norm::Kind::layer, 1e-5, true, bias, false};
  form.epsilon_field = epsilon_field;
  return form;
}

namespace {

Model read_llama(Fields& config) {
  // Other families' files have these too, where they do nothing.
  for (const char* factor : {"embedding_multiplier", "residual_multiplier", "logits_scaling"})
    if (config.number(factor, 1.0) != 1.0) config.fail(factor, "1: this family has no such factor");
  return read_form(config, llama_form(config));
}

Model read_arcee(Fields& config) {
  Form form = llama_form(config);
  form.norm.epsilon = 1e-5;
  form.activation = "relu2";
  form.gated = false;
  form.context = 4096;
  return read_form(config, form);
}

Model read_mistral(Fields& config) {
  Form form;
  form.n_kv_heads = 8;
  form.context = 131072;
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  Model model = read_form(config, form);
  read_windows(config, model, window, [=](std::int64_t) { return window > 0; });
  return model;
}

Model read_qwen2(Fields& config) {
  config.expect_on("qkv_bias", "true: this family has such biases");
  Form form;
  form.qkv_bias = true;
  form.n_kv_heads = 32;
  form.context = 32768;
  Model model = read_form(config, form);
  read_upper_windows(config, model);
  return model;
}

Model read_qwen3(Fields& config) {
  Form form;
  form.n_kv_heads = 32;
  form.d_head = 128;
  form.context = 32768;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  config.expect_on("use_qk_norm", "true: this family has such norms");
  Model model = read_form(config, form);
  read_upper_windows(config, model);
  return model;
}

Model read_gemma(Fields& config) {
  // hidden_activation was added beside a hidden_act that meant the same; where both are there it holds.
  if (config.has("hidden_activation")) {
    config.rename("hidden_act", {"hidden_activation"});
    config.ignore({"hidden_act"});
  }
  return read_gemma_form(config, gemma_form(config, 16));
}

Model read_gemma2(Fields& config) {
  Model model = read_gemma2_form(config, gemma_form(config, 4), {.scores = 50.0, .logits = 30.0});
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  read_windows(config, model, window, [](std::int64_t layer) { return layer % 2 == 0; });
  config.ignore({"sliding_window_size"});  // the window again
  return model;
}

}  // namespace

// Norms on both sides of each sublayer (Gemma 2 and 3), or only after it (OLMo 2).
void name_norms_after(FamilyNames& names) {
  names.attention_norm_after = "post_attention_layernorm";
  names.feed_forward_norm = "pre_feedforward_layernorm";
  names.feed_forward_norm_after = "post_feedforward_layernorm";
}

namespace {

Model read_gemma3_text(Fields& config) {
  config.rename("sliding_window_pattern", {"sliding_window_pattern", "_sliding_window_pattern"});
  Form form = gemma_form(config, 4);
  form.context = 131072;
  form.rope = {1e6, 1.0, 1e4, false};
  form.query_key_norm = true;
  Model model = read_gemma2_form(config, form, {.scores = 0.0, .logits = 0.0});
  const std::int64_t window = config.count("sliding_window", 4096, 0);
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
  form.attention.window = config.count("sliding_window", 0);
  config.expect_off("lm_head_bias", "false: phi3 has no such bias");
  config.expect_size("full_attn_mod", 1, "1: every layer alike");
  config.expect_size("interpolate_factor", 1, "1");
  return read_form(config, form);
}

}  // namespace

void name_phi3(FamilyNames& names) {
  names.query_key_value = "self_attn.qkv_proj";
  names.feed_forward.gate_up = "mlp.gate_up_proj";
}

namespace {

Model read_olmo2(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.norm_before = false;
  form.norm_after = true;
  form.query_key_norm = true;
  form.attention.norm_span = Attention::NormSpan::all_heads;
  return read_form(config, form);
}

Model read_starcoder2(Fields& config) {
  Form form = layer_norm_form("norm_epsilon", true);
  form.activation = "gelu_pytorch_tanh";
  form.gated = false;
  read_bias(config, form, "use_bias", true);
  form.n_kv_heads = 2;
  form.context = 4096;
  form.tied = true;
  form.attention.window = config.count("sliding_window", 0);
  config.expect_word("norm_type", "layer_norm", "layer_norm");
  config.expect_word("mlp_type", "default", "default");
  // Repetitions under GPT-2's names, and precision.
  config.ignore({"activation_function", "layer_norm_epsilon", "attention_softmax_in_fp32",
                 "scale_attention_softmax_in_fp32", "scale_attn_weights"});
  return read_form(config, form);
}

void name_starcoder2(FamilyNames& names) {
  names.feed_forward.up = "mlp.c_fc";
  names.feed_forward.down = "mlp.c_proj";
}

Model read_stablelm(Fields& config) {
  config.rename("layer_norm_eps", {"layer_norm_eps", "norm_eps"});
  config.rename("partial_rotary_factor", {"partial_rotary_factor", "rope_pct"});
  Form form = layer_norm_form("layer_norm_eps", true);
  form.rope.fraction = 0.25;
  form.n_kv_heads = 32;
  form.context = 4096;
  form.qkv_bias = config.flag("use_qkv_bias", false);
  form.query_key_norm = config.flag("qk_layernorm", false);
  form.attention.norm_span = Attention::NormSpan::own_head;
  if (config.flag("use_parallel_residual", false)) form.feed_forward_reads = Sublayer::Reads::first;
  return read_form(config, form);
}

void name_stablelm(FamilyNames& names) {
  names.query_norm = "self_attn.q_layernorm.norms.{}";
  names.key_norm = "self_attn.k_layernorm.norms.{}";
}

Model read_cohere(Fields& config) {
  Form form = layer_norm_form("layer_norm_eps", false);
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 500000.0;
  form.rope.interleaved = true;
  form.context = 8192;
  form.tied = true;
  form.feed_forward_reads = Sublayer::Reads::first;
  form.query_key_norm = config.flag("use_qk_norm", false);
  form.attention.norm_span = Attention::NormSpan::own_head;
  Model model = read_form(config, form);
  model.head.scale = config.positive("logit_scale", 0.0625);
  return model;
}

}  // namespace

Form granite_form(Fields& config) {
  Form form = llama_form(config);
  form.attention.scale = config.positive("attention_multiplier", 1.0);
  form.residual_scale = config.positive("residual_multiplier", 1.0);
  return form;
}

void read_multipliers(Fields& config, Model& model) {
  model.embedding_scale = config.positive("embedding_multiplier", 1.0);
  model.head.scale = 1.0 / config.positive("logits_scaling", 1.0);
}

namespace {

Model read_granite(Fields& config) {
  Model model = read_form(config, granite_form(config));
  read_multipliers(config, model);
  return model;
}

}  // namespace

std::vector<Family> llama_families() {
  return {
      {"arcee", read_arcee},
      {"cohere", read_cohere, {256000, 8192, 22528, 40, 64}},
      {"gemma", read_gemma, {256000, 3072, 24576, 28, 16}},
      {"gemma2", read_gemma2, {256000, 2304, 9216, 26, 8}, name_norms_after},
      {"gemma3_text", read_gemma3_text, {262208, 2304, 9216, 26, 8}, name_norms_after},
      {"granite", read_granite, {32000, 4096, 11008, 32, 32}},
      {"llama", read_llama, {32000, 4096, 11008, 32, 32}},
      {"mistral", read_mistral, {32000, 4096, 14336, 32, 32}},
      {"olmo2", read_olmo2, {50304, 4096, 11008, 32, 32}, name_norms_after},
      {"phi3", read_phi3, {32064, 3072, 8192, 32, 32}, name_phi3},
      {"qwen2", read_qwen2, {151936, 4096, 22016, 32, 32}},
      {"qwen3", read_qwen3, {151936, 4096, 22016, 32, 32}},
      {"stablelm", read_stablelm, {50304, 2560, 6912, 32, 32}, name_stablelm},
      {"starcoder2", read_starcoder2, {49152, 3072, 12288, 30, 24}, name_starcoder2},
  };
}

}  // namespace reckon
