// Families whose attention is gated, or whose layers have heads of several kinds.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

Model read_afmoe(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  config.rename("n_shared_experts", {"num_shared_experts"});
  config.rename("routed_scaling_factor", {"route_scale"});
  config.rename("first_k_dense_replace", {"num_dense_layers"});
  config.rename("norm_topk_prob", {"route_norm"});
  config.rename("scoring_func", {"score_func"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.norm_after = true;
  form.query_key_norm = true;
  form.attention.gate = OutputGate{};
  form.d_head = 128;
  form.context = 16384;
  Model model = read_form(config, form);
  config.rename("sliding_window_pattern", {"global_attn_every_n_layers"});
  read_pattern_windows(config, model, config.count("sliding_window", 1024, 0), 4);
  keep_rope_where_windowed(model);
  if (config.flag("mup_enabled", false)) model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  Mixture mixture = read_sigmoid_mixture(config, model, {64, 6, 2, 1408, 1, 1, 1.0, true});
  if (!mixture.normalize) config.fail("norm_topk_prob", "true");
  mixture.correction_counted = true;
  set_mixture(model, mixture, read_sparse_layers(config, model, 1));
  for (const char* groups : {"num_expert_groups", "num_limited_groups"})
    config.expect_size(groups, 1, "1: experts are chosen from all of them");
  config.ignore({"load_balance_coeff", "use_grouped_mm"});
  return model;
}

void name_afmoe(FamilyNames& names) {
  name_deepseek(names);
  names.output_gate = "self_attn.gate_proj";
  names.attention_norm_after = "post_attention_layernorm";
  names.feed_forward_norm = "pre_mlp_layernorm";
  names.feed_forward_norm_after = "post_mlp_layernorm";
  for (MixtureNames& form : names.mixtures) form.router = "mlp.router.gate";
  names.correction = "mlp.expert_bias";
}

Model read_laguna(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.rope = {5e5, 0.5, 1e4, false, 1.0};
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  OutputGate gate{Activation::softplus, true};
  if (const nlohmann::json* gating = config.value("gating"); gating && *gating != true) {
    if (*gating != "per-head" && *gating != "per-element") config.fail("gating", "true, per-head or per-element");
    gate.per_head = *gating == "per-head";
  }
  form.attention.gate = gate;
  Model model = read_form(config, form);
  const Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  read_windows(
      config, model, config.count("sliding_window", 512, 0), [](std::int64_t) { return false; }, &ropes);
  if (const nlohmann::json* heads = config.array("num_attention_heads_per_layer")) {
    if (heads->size() != model.layers.size())
      config.fail("num_attention_heads_per_layer", fmt::format("{} entries, one per layer", model.layers.size()));
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      Attention& attention = *find<Attention>(model.layers[i]);
      const nlohmann::json& n = (*heads)[i];
      if (!n.is_number_integer() || n < 1 || n > 1 << 20 || n.get<std::int64_t>() % attention.n_kv_heads != 0)
        config.fail("num_attention_heads_per_layer", "an array of multiples of num_key_value_heads");
      attention.n_heads = n.get<std::int64_t>();
    }
  }
  Mixture mixture = read_experts(config, model, 256, 8);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.normalize = true;
  mixture.correction_bias = mixture.correction_counted = true;
  mixture.router_softcap = config.number("moe_router_logit_softcapping", 0.0);
  mixture.scale = config.positive("moe_routed_scaling_factor", 1.0);
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = config.size("shared_expert_intermediate_size", 512);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 512);
  set_mixture(model, mixture, read_sparse_layers(config, model, 1));
  config.expect_off("moe_apply_router_weight_on_input", "false: weights multiply what experts make");
  return model;
}

void name_laguna(FamilyNames& names) {
  name_experts(names);
  names.output_gate = "self_attn.g_proj";
  names.correction = "mlp.experts.e_score_correction_bias";
  names.shared = {
      .gate = "mlp.shared_expert.gate_proj", .up = "mlp.shared_expert.up_proj", .down = "mlp.shared_expert.down_proj"};
}

// `hybrid_layer_pattern`, Xiaomi's own, has a 1 for each layer with a window; else the first layer and every sixth see
// all.
LayerRule mimo_windows(Fields& config, std::size_t layers) {
  const nlohmann::json* pattern = config.array("hybrid_layer_pattern");
  if (pattern == nullptr) return [](std::int64_t layer) { return layer != 0 && (layer + 1) % 6 != 0; };
  if (pattern->size() != layers) config.fail("hybrid_layer_pattern", fmt::format("{} entries, one per layer", layers));
  std::vector<bool> slides;
  for (const nlohmann::json& entry : *pattern) {
    if (entry != 0 && entry != 1) config.fail("hybrid_layer_pattern", "an array of 0 and 1");
    slides.push_back(entry == 1);
  }
  return [=](std::int64_t layer) { return slides[static_cast<std::size_t>(layer)]; };
}

// Sliding layers have twice the key heads, and sinks.
Model read_mimo_v2_flash(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.rope = {5e6, 0.334, 1e4, false};
  form.n_kv_heads = 4;
  form.d_head = 192;
  form.attention.d_value = config.size("v_head_dim", 128);
  form.attention.value_scale = config.number("attention_value_scale", 0.707, 1.0);
  form.context = 131072;
  // Xiaomi's own names.
  config.rename("rms_norm_eps", {"rms_norm_eps", "layernorm_epsilon"});
  config.rename("rope_local_base_freq", {"rope_local_base_freq", "swa_rope_theta"});
  config.rename("sliding_window", {"sliding_window", "sliding_window_size", "attention_chunk_size"});
  Model model = read_form(config, form);
  const Attention& all = first_attention(model);
  config.expect_size("swa_num_attention_heads", all.n_heads, "that of all layers");
  config.expect_size("swa_num_key_value_heads", 2 * all.n_kv_heads, "twice num_key_value_heads");
  config.expect_size("swa_head_dim", all.d_head, "head_dim");
  config.expect_size("swa_v_head_dim", all.d_value, "v_head_dim");
  const Ropes ropes = read_rope(config, form.rope, all.d_head, model.context);
  read_windows(config, model, config.count("sliding_window", 128, 0), mimo_windows(config, model.layers.size()),
               &ropes);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.output_bias = false;
    if (attention.window == 0) return;
    attention.n_kv_heads *= 2;
    attention.sinks = true;
    if (attention.n_heads % attention.n_kv_heads != 0)
      config.fail("num_key_value_heads", fmt::format("half of a divisor of {}", attention.n_heads));
  });
  config.expect_off("add_full_attention_sink_bias", "false");
  if (!config.flag("add_swa_attention_sink_bias", true)) config.fail("add_swa_attention_sink_bias", "true");
  Mixture mixture = read_sigmoid_mixture(config, model, {256, 8, 0, 2048, 1, 1, 1.0, true});
  if (mixture.shared) config.fail("n_shared_experts", "0");
  set_mixture(model, mixture, read_sparse_layers(config, model, 1));
  return model;
}

void name_mimo_v2_flash(FamilyNames& names) {
  name_deepseek(names);
  names.sinks = "self_attn.attention_sink_bias";
}

}  // namespace

std::vector<Family> gated_families() {
  return {
      {"afmoe", read_afmoe, {200192, 2048, 6144, 32, 16}, name_afmoe},
      {"laguna", read_laguna, {100352, 2048, 8192, 40, 48}, name_laguna},
      {"mimo_v2_flash", read_mimo_v2_flash, {152576, 4096, 16384, 48, 64}, name_mimo_v2_flash},
  };
}

}  // namespace reckon
