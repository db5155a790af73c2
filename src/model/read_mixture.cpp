// The families with a mixture of experts.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "model/families.h"

namespace reckon {

namespace {

// A mixture with the form's feed-forward as each expert, and so many experts where the config does not say how many
// there are and how many a token takes (0: it must say).
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

// The feed-forwards of these layers become this mixture.
void set_mixture(
    Model& model, const Mixture& mixture, const LayerRule& sparse = [](std::int64_t) { return true; }) {
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
  const std::int64_t step = config.size("decoder_sparse_step", 1);
  std::set<std::int64_t> dense;
  if (const nlohmann::json* layers = config.array("mlp_only_layers"))
    for (const nlohmann::json& layer : *layers) {
      if (!layer.is_number_integer()) config.fail("mlp_only_layers", "an array of layer numbers");
      dense.insert(layer.get<std::int64_t>());
    }
  set_mixture(model, mixture, [&](std::int64_t layer) { return !dense.count(layer) && (layer + 1) % step == 0; });
  config.ignore({"max_window_layers"});  // without effect in this family
  return model;
}

// DeepSeek's form: latent attention, first layers dense, shared experts.
Model read_deepseek(Fields& config, bool third) {
  const bool bias = config.flag("attention_bias", false);
  Latent latent;
  latent.query_rank = config.size("q_lora_rank", 1536, 0);
  latent.kv_rank = config.size("kv_lora_rank", 512);
  latent.d_nope = config.size("qk_nope_head_dim", 128);
  latent.d_rope = config.size("qk_rope_head_dim", 64);
  latent.down_bias = bias;
  latent.norm = {Norm::Kind::rms, 1e-6, true, false, false};  // DeepseekV2RMSNorm's own epsilon, not the config's
  Form form;
  form.rope.interleaved = third ? config.flag("rope_interleave", true) : true;
  form.context = third ? 4096 : 2048;
  form.d_head = latent.d_nope + latent.d_rope;
  config.rename("head_dim", {"qk_head_dim"});  // the sum; what files call head_dim is the RoPE part alone
  config.ignore({"head_dim"});
  form.feed_forward_bias = third ? false : config.flag("mlp_bias", false);
  form.attention_bias = bias;
  form.qkv_bias = false;  // the projections to the latents take their place
  form.attention.latent = latent;
  form.attention.d_value = config.size("v_head_dim", 128);
  Model model = read_form(config, form);
  const Attention& attention = first_attention(model);
  if (attention.n_kv_heads != attention.n_heads)
    config.fail("num_key_value_heads",
                fmt::format("num_attention_heads, {}, as latent attention has no groups", attention.n_heads));
  const Rope& rope = *attention.rope;
  if (rope.scaling != Rope::Scaling::none && rope.mscale_all_dim != 0) {
    const double scale = attention.scale * std::pow(yarn_mscale(rope.factor, rope.mscale_all_dim), 2);
    for_each<Attention>(model.layers, [&](Attention& each) { each.scale = scale; });
  }

  config.rename("num_local_experts", {"n_routed_experts"});
  Mixture mixture = read_experts(config, model, third ? 256 : 64, third ? 8 : 0);
  mixture.scale = config.positive("routed_scaling_factor", third ? 2.5 : 1.0);
  const std::string method = config.word("topk_method", third ? "noaux_tc" : "greedy");
  if (third) {
    if (method != "noaux_tc") config.fail("topk_method", "noaux_tc");
    config.expect_word("scoring_func", "sigmoid", "sigmoid");
    mixture.scores = Mixture::Scores::sigmoid;
    mixture.correction_bias = true;
    mixture.normalize = config.flag("norm_topk_prob", true);
    mixture.group_top = 2;
  } else {
    if (method != "greedy" && method != "group_limited_greedy")
      config.fail("topk_method", "greedy or group_limited_greedy");
    config.expect_word("scoring_func", "softmax", "softmax");
    // transformers and DeepSeek's own code disagree about what a true would mean in V2.
    config.expect_off("norm_topk_prob", "false in deepseek_v2");
  }
  const std::int64_t n_groups = config.size("n_group", third ? 8 : 1);
  const std::int64_t n_active_groups = config.size("topk_group", third ? 4 : 1);
  if (method != "greedy") {
    mixture.n_groups = n_groups;
    mixture.n_active_groups = n_active_groups;
    if (mixture.n_experts % n_groups != 0)
      config.fail("n_group", fmt::format("a divisor of n_routed_experts, {}", mixture.n_experts));
    if (n_active_groups > n_groups) config.fail("topk_group", fmt::format("at most n_group, {}", n_groups));
  }
  const std::int64_t d_expert = config.size("moe_intermediate_size", third ? 2048 : 1407);
  const std::int64_t n_shared = config.count("n_shared_experts", third ? 1 : 2, 0);
  if (n_shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = n_shared * d_expert;
  }
  mixture.expert.d_ff = d_expert;
  // In V3, transformers and DeepSeek build experts without biases; V2's mlp_bias is about the plain feed-forwards.
  mixture.expert.bias = false;
  config.expect_size("moe_layer_freq", 1, "1: every layer after the dense ones");
  const std::int64_t n_dense = config.count("first_k_dense_replace", third ? 3 : 0);
  set_mixture(model, mixture, [&](std::int64_t layer) { return layer >= n_dense; });
  // About training and about how the work was spread. (The layers that predict further tokens are not part of the model
  // that transformers builds, though files may hold them: a note says so.)
  config.ignore({"aux_loss_alpha", "seq_aux", "ep_size", "rope_interleave"});
  return model;
}

Model read_deepseek_v2(Fields& config) { return read_deepseek(config, false); }

Model read_deepseek_v3(Fields& config) { return read_deepseek(config, true); }

void name_deepseek(FamilyNames& names) {
  name_experts(names);
  names.query_down = "self_attn.q_a_proj";
  names.query_down_norm = "self_attn.q_a_layernorm";
  names.query_up = "self_attn.q_b_proj";
  names.kv_down = "self_attn.kv_a_proj_with_mqa";
  names.kv_down_norm = "self_attn.kv_a_layernorm";
  names.kv_up = "self_attn.kv_b_proj";
  names.correction = "mlp.gate.e_score_correction_bias";
  names.shared = {.gate = "mlp.shared_experts.gate_proj",
                  .up = "mlp.shared_experts.up_proj",
                  .down = "mlp.shared_experts.down_proj"};
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
      {"deepseek_v2", read_deepseek_v2, {102400, 4096, 11008, 32, 32}, name_deepseek},
      {"deepseek_v3", read_deepseek_v3, {129280, 7168, 18432, 61, 128}, name_deepseek},
      {"gpt_oss", read_gpt_oss, {201088, 2880, 2880, 36, 64}, name_gpt_oss},
      {"kimi_k2", read_deepseek_v3, {}, name_deepseek, "deepseek_v3"},
      {"mixtral", read_mixtral, {32000, 4096, 14336, 32, 32}, name_mixtral},
      {"qwen3_moe", read_qwen3_moe, {151936, 2048, 6144, 24, 32}, name_experts},
  };
}

}  // namespace reckon
