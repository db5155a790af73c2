// Zaya: queries, keys and values that tokens before have a part in, routers that are networks and hand on what they
// made, an expert that makes nothing, learned shifts and factors of the stream.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/forms.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

// The maker's first files: layers of attention and of experts are counted apart, in turn, and a width is that of gate
// and up together.
bool is_first_form(const Fields& config) {
  return config.has("ffn_hidden_size") && !config.has("moe_intermediate_size") && !config.has("layer_types");
}

Json in_newer_words(Fields& file) {
  Json plain = file.json();
  const std::int64_t layers = file.size_up_to("num_hidden_layers", most_layers), width = file.size("ffn_hidden_size");
  if (layers % 2 != 0) file.fail("num_hidden_layers", "an even number: layers of attention and of experts in turn");
  if (width % 2 != 0) file.fail("ffn_hidden_size", "an even number: the width of gate and up together");
  plain["num_hidden_layers"] = layers / 2;
  plain["moe_intermediate_size"] = width / 2;
  plain.erase("ffn_hidden_size");
  for (const char* on : {"cca", "gated_linear_unit", "scale_residual_merge", "zaya_use_eda", "zaya_use_mod"})
    file.expect_on(on, "true");
  file.expect_off("add_bias_linear", "false: this family has no such biases");
  file.expect_word("activation_func", "swiglu", "swiglu");
  file.expect_word("normalization", "RMSNorm", "RMSNorm");
  for (const char* name : {"cca", "gated_linear_unit", "scale_residual_merge", "zaya_use_eda", "zaya_use_mod",
                           "add_bias_linear", "activation_func", "normalization"})
    plain.erase(name);
  // About precision, and how it is computed.
  for (const char* name : {"zaya_high_prec", "residual_in_fp32", "fused_add_norm", "apply_rope_fusion",
                           "bias_activation_fusion", "activation_func_fp8_input_store"})
    plain.erase(name);
  return plain;
}

Model read_zaya(Fields& config) {
  if (is_first_form(config)) {
    const Json plain = in_newer_words(config);
    Fields newer(plain, config.where());
    Model model = read_zaya(newer);
    std::set<std::string> left;
    for (const Fields::Unread& unread : newer.unread()) left.insert(unread.name);
    for (const auto& [name, value] : config.json().items())
      if (!left.contains(name)) config.ignore({name});
    return model;
  }
  config.rename("num_local_experts", {"num_experts"});
  config.rename("intermediate_size", {"moe_intermediate_size"});
  config.rename("num_experts_per_tok", {"num_experts_per_tok", "moe_router_topk"});
  config.rename("rms_norm_eps", {"rms_norm_eps", "norm_epsilon"});
  config.rename("num_key_value_heads", {"num_key_value_heads", "num_query_groups"});
  config.rename("router_hidden_size", {"router_hidden_size", "zaya_mlp_expansion"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.n_kv_heads = 2;
  form.d_head = 128;
  form.context = 131072;
  form.tied = true;
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 5e6;
  form.rope.sliding_theta = 1e4;
  form.rope.fraction = config.has("rope_parameters") ? 1.0 : 0.5;
  form.rope.full_key = "hybrid";
  form.rope.sliding_key = "hybrid_sliding";
  form.attention.convolved = ConvolvedHeads{config.size("cca_time0", 2), config.size("cca_time1", 2)};
  form.attention.key_scale = true;
  Model model = read_form(config, form);
  model.head.bias = config.flag("lm_head_bias", false);
  model.embedding_affine = true;

  Mixture mixture = read_experts(config, model, 16, 1);
  if (mixture.n_active != 1) config.fail("num_experts_per_tok", "1");
  mixture.n_null = 1;
  mixture.correction_bias = true;
  mixture.router_rank = config.size("router_hidden_size", 256);
  mixture.router_norm = *model.final_norm;
  set_mixture(model, mixture);

  const std::size_t layers = model.layers.size();
  const std::vector<bool> slides =
      read_words(config, "layer_types", "hybrid_sliding", "hybrid", std::vector<bool>(layers));
  const std::int64_t window = config.count("sliding_window", 0, 0);
  if (window > 0 && std::find(slides.begin(), slides.end(), true) == slides.end())
    config.fail("sliding_window", "null, because layer_types names no sliding layers");
  const Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  for (std::size_t i = 0; i < layers; ++i)
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      sublayer.affine = true;
      if (auto* m = std::get_if<Mixture>(&sublayer.kind)) m->router_chained = i > 0;
      auto* attention = std::get_if<Attention>(&sublayer.kind);
      if (attention == nullptr) return;
      // x·√n / max(|x|, ε), with the ε of float32.
      constexpr double epsilon = 1.1920928955078125e-7;
      const auto width = static_cast<double>(attention->d_head);
      attention->query_key_norm = Norm{Norm::Kind::rms, epsilon * epsilon / width, false, false, false};
      attention->rope = slides[i] ? ropes.sliding : ropes.full;
      if (!slides[i]) return;
      if (window == 0) config.fail("sliding_window", "a whole number, because layer_types names sliding layers");
      attention->window = window;
    });
  return model;
}

void name_zaya(FamilyNames& names) {
  names.query = "self_attn.qkv_proj.q_proj";
  names.key = "self_attn.qkv_proj.k_proj";
  names.value = "self_attn.qkv_proj.v_proj_current";
  names.convolved = {.value_before = "self_attn.qkv_proj.v_proj_delayed",
                     .channels = "self_attn.qkv_proj.conv_qk_depthwise",
                     .heads = "self_attn.qkv_proj.conv_qk_grouped",
                     .key_scale = "self_attn.qk_norm.temp"};
  names.affine = {
      .embedding = "input_", .attention = "post_attention_residual_scale.", .feed_forward = "post_mlp_residual_scale."};
  names.router = {.down = "mlp.gate.down_proj",
                  .norm = "mlp.gate.router_mlp.norm",
                  .first = "mlp.gate.router_mlp.fc1",
                  .second = "mlp.gate.router_mlp.fc2",
                  .state = "mlp.gate.router_states_scale"};
  names.mixtures = {
      {"mlp.gate.router_mlp.out_proj", {.down = "mlp.experts.down_proj", .gate_up = "mlp.experts.gate_up_proj"}}};
  names.correction = "mlp.gate.balancing_biases";
}

}  // namespace

std::vector<Family> zaya_families() { return {{"zaya", read_zaya, {262272, 2048, 2048, 40, 8}, name_zaya}}; }

}  // namespace reckon
