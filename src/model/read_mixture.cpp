// The families with a mixture of experts.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "model/forms.h"

namespace reckon {

Mixture read_experts(Fields& config, const Model& model, std::int64_t experts, std::int64_t active) {
  const std::string of = "num_local_experts", taken = "num_experts_per_tok";
  Mixture mixture;
  mixture.expert = first_feed_forward(model);
  mixture.n_experts = config.size(of, experts);
  mixture.n_active = active > 0 ? config.size(taken, active) : config.size(taken);
  if (mixture.n_active > mixture.n_experts)
    config.fail(taken, fmt::format("at most {}, {}", config.spelled(of), mixture.n_experts));
  return mixture;
}

void set_mixture(Model& model, const Mixture& mixture, const LayerRule& sparse) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!sparse(static_cast<std::int64_t>(i))) continue;
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      if (std::holds_alternative<FeedForward>(sublayer.kind)) sublayer.kind = mixture;
    });
  }
}

// Experts one by one, as published; transformers 5 may also write them fused.
const MixtureNames fused_experts{"mlp.gate", {.down = "mlp.experts.down_proj", .gate_up = "mlp.experts.gate_up_proj"}};

void name_experts(FamilyNames& names) {
  names.mixtures = {
      {"mlp.gate",
       {.gate = "mlp.experts.{}.gate_proj", .up = "mlp.experts.{}.up_proj", .down = "mlp.experts.{}.down_proj"}},
      fused_experts};
}

Model read_mixtral(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.context = 131072;
  form.attention.window = config.count("sliding_window", 0);
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.normalize = true;
  set_mixture(model, mixture);
  return model;
}

void name_mixtral(FamilyNames& names) {
  names.mixtures = {{"block_sparse_moe.gate",
                     {.gate = "block_sparse_moe.experts.{}.w1",
                      .up = "block_sparse_moe.experts.{}.w3",
                      .down = "block_sparse_moe.experts.{}.w2"}},
                    fused_experts};
}

LayerRule read_sparse_steps(Fields& config) {
  const std::int64_t step = config.size("decoder_sparse_step", 1);
  std::set<std::int64_t> dense;
  if (const nlohmann::json* layers = config.array("mlp_only_layers"))
    for (const nlohmann::json& layer : *layers) {
      if (!layer.is_number_integer() || layer < 0) config.fail("mlp_only_layers", "an array of layer numbers");
      dense.insert(layer.get<std::int64_t>());
    }
  return [=](std::int64_t layer) { return !dense.count(layer) && (layer + 1) % step == 0; };
}

namespace {

Model read_qwen3_moe(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.attention.window = read_used_window(config);
  form.n_kv_heads = 4;
  form.context = 32768;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 128, 8);
  mixture.normalize = config.flag("norm_topk_prob", false);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 768);
  set_mixture(model, mixture, read_sparse_steps(config));
  config.expect_off("qkv_bias", "false: this family has no such biases");
  if (!config.flag("use_qk_norm", true)) config.fail("use_qk_norm", "true");
  config.expect_off("shared_expert_intermediate_size", "0: this family has no shared experts");
  config.ignore({"max_window_layers"});  // without effect in this family
  return model;
}

Model read_gpt_oss(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  config.rename("num_experts_per_tok", {"num_experts_per_tok", "experts_per_token"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", true);
  form.attention.sinks = true;
  form.feed_forward_bias = true;
  form.rope.theta = 150000.0;
  form.n_kv_heads = 8;
  form.d_head = 64;
  form.context = 131072;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 128, 4);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.router_bias = true;
  mixture.expert.clamp = config.positive("swiglu_limit", 7.0);
  set_mixture(model, mixture);
  if (!config.has("rope_parameters") && !config.has("rope_scaling"))  // the family's default
    for_each<Attention>(model.layers, [](Attention& attention) {
      attention.rope->scaling = Rope::Scaling::yarn;
      attention.rope->factor = 32.0;
      attention.rope->original_context = 4096.0;
      attention.rope->truncate = false;
    });
  const std::int64_t window = config.count("sliding_window", 128, 0);
  read_windows(config, model, window, [](std::int64_t layer) { return layer % 2 == 0; });
  config.ignore({"initial_context_length"});  // repeats the RoPE scaling's start
  return model;
}

void name_gpt_oss(FamilyNames& names) {
  names.sinks = "self_attn.sinks";
  names.mixtures = {fused_experts};
  names.mixtures.front().router = "mlp.router";
  names.mixtures.front().transposed = names.mixtures.front().interleaved = true;
}

}  // namespace

std::vector<Family> mixture_families() {
  return {
      {"gpt_oss", read_gpt_oss, {201088, 2880, 2880, 36, 64}, name_gpt_oss},
      {"mixtral", read_mixtral, {32000, 4096, 14336, 32, 32}, name_mixtral},
      {"qwen3_moe", read_qwen3_moe, {151936, 2048, 6144, 24, 32}, name_experts},
  };
}

}  // namespace reckon
