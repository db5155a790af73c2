// The language models inside models of text and images, under types of their own. RoPE with several axes is plain RoPE
// on text.
#include <fmt/format.h>

#include "model/forms.h"

namespace reckon {

namespace {

Model read_qwen3_vl_text(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.rope.theta = 5e5;
  form.n_kv_heads = 32;
  form.d_head = 128;
  form.context = 128000;
  return read_form(config, form);
}

Model read_qwen3_vl_moe_text(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.rope.theta = 5e5;
  form.n_kv_heads = 16;
  form.context = 128000;
  form.tied = true;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 60, 4);
  mixture.normalize = true;
  mixture.expert.d_ff = config.size("moe_intermediate_size", 1408);
  set_mixture(model, mixture, read_sparse_steps(config));
  config.expect_on("norm_topk_prob", "true: this family's experts have weights that sum to one");
  return model;
}

void name_qwen3_vl_moe_text(FamilyNames& names) {
  names.mixtures = {fused_experts};
  names.mixtures.front().transposed = true;
  names.mixtures.front().either = true;  // Qwen's files, and those that transformers saves
}

// Qwen2-VL and Qwen2.5-VL: Qwen2's network. Files name the language model's fields at the top or in text_config.
Model read_qwen2_vl_text(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.qkv_bias = true;
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.context = 32768;
  Model model = read_form(config, form);
  const std::int64_t window = read_used_window(config), first = config.count("max_window_layers", 80);
  read_windows(config, model, window, [=](std::int64_t layer) { return window > 0 && layer >= first; });
  config.ignore({"vision_config", "vision_start_token_id"});
  return model;
}

Model read_glm4v_text(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.norm_after = true;
  form.rope.interleaved = true;
  form.n_kv_heads = 2;
  form.context = 32768;
  form.attention_bias = true;
  config.expect_on("attention_bias", "true: queries, keys and values have biases in this family");
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [](Attention& attention) { attention.output_bias = false; });
  return model;
}

Model read_glm4v_moe_text(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", true);
  form.rope.fraction = 0.5;
  form.n_kv_heads = 8;
  form.context = 65536;
  for (const char* norms : {"use_qk_norm", "qk_layernorm"})
    config.expect_off(norms, "false: this family has no such norms");
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [](Attention& attention) { attention.output_bias = false; });
  set_mixture(model, read_sigmoid_mixture(config, model, {128, 8, 1, 1408, 1, 1, 1.0, true}),
              read_sparse_layers(config, model, 1));
  return model;
}

}  // namespace

std::vector<Family> wrapped_families() {
  constexpr auto as_network = [](FamilyNames&) {};  // the names are those of the network that is said
  return {
      {"glm4v_moe_text", read_glm4v_moe_text, {151424, 4096, 10944, 46, 96}, as_network, "glm4_moe"},
      {"glm4v_text", read_glm4v_text, {151552, 4096, 13696, 40, 32}, as_network, "glm4"},
      {"qwen2_5_vl", read_qwen2_vl_text, {}, as_network, "qwen2"},
      {"qwen2_5_vl_text", read_qwen2_vl_text, {152064, 8192, 29568, 80, 64}, as_network, "qwen2"},
      {"qwen2_vl", read_qwen2_vl_text, {}, as_network, "qwen2"},
      {"qwen2_vl_text", read_qwen2_vl_text, {152064, 8192, 29568, 80, 64}, as_network, "qwen2"},
      {"qwen3_vl_moe_text", read_qwen3_vl_moe_text, {151936, 2048, 5632, 24, 16}, name_qwen3_vl_moe_text},
      {"qwen3_vl_text", read_qwen3_vl_text, {151936, 4096, 22016, 32, 32}, as_network, "qwen3"},
  };
}

}  // namespace reckon
