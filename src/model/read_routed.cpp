// Families whose heads are routed, subtracted from each other, or masked by what values say.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

// Pairs of heads, whose λ begins further up in every layer.
Model read_diffllama(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  Model model = read_form(config, form);
  Norm norm = *model.final_norm;
  norm.weight = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Attention& attention = *find<Attention>(model.layers[i]);
    if (attention.n_kv_heads % 2 != 0) config.fail("num_key_value_heads", "an even number: its heads go in pairs");
    attention.difference = {0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(i)), norm};
  }
  config.expect_size("patch_size", 1, "1: a position is a token");
  config.ignore({"lambda_std_dev", "gradient_accumulation_steps"});  // how weights were made
  return model;
}

void name_diffllama(FamilyNames& names) { names.difference = "self_attn.lambda_"; }

Model read_jetmoe(Fields& config) {
  config.rename("num_attention_heads", {"num_key_value_heads"});
  config.rename("head_dim", {"kv_channels"});
  config.rename("hidden_act", {"activation_function"});
  // Behind transformers' names those of the maker's own code.
  config.rename("intermediate_size", {"intermediate_size", "ffn_hidden_size"});
  config.rename("num_local_experts", {"num_local_experts", "moe_num_experts"});
  config.rename("num_experts_per_tok", {"num_experts_per_tok", "moe_top_k"});
  config.rename("num_hidden_layers", {"num_hidden_layers", "num_layers"});
  config.rename("max_position_embeddings", {"max_position_embeddings", "n_positions"});
  config.rename("rms_norm_eps", {"rms_norm_eps", "layer_norm_epsilon"});
  for (const char* on : {"bias", "glu"}) config.expect_on(on, "true");
  config.ignore({"num_attention_heads", "aux_loss_coef"});  // the key heads of all active experts
  Form form;
  form.d_head = 128;
  form.context = 4096;
  form.tied = true;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.output_bias = true;
  set_mixture(model, mixture);
  for_each<Sublayer>(model.layers, [](Sublayer& sublayer) { sublayer.norms.before->epsilon = 1e-6; });  // always
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.routed = {mixture.n_experts, mixture.n_active};
    attention.n_heads *= mixture.n_active;
    attention.output_bias = true;
  });
  return model;
}

void name_jetmoe(FamilyNames& names) {
  names.query = "self_attention.experts.input_linear";
  names.output = "self_attention.experts.output_linear";
  names.query_router = "self_attention.experts.router.layer";
  names.output_shift = "self_attention.experts.bias";
  names.key_value = "self_attention.kv_proj";
  names.mixtures = {{"mlp.router.layer", {.down = "mlp.output_linear", .gate_up = "mlp.input_linear"}}};
  names.mixture_shift = "mlp.bias";
  names.all_experts_weight = ".weight";
}

// Masks that values make, learned factors of the stream, and experts of one row each that product keys choose.
Model read_doge(Fields& config) {
  Form form = llama_form(config);
  form.query_key_norm = true;
  form.attention.dynamic_mask = {config.size("keep_window_size", 2048), form.attention_bias};
  form.attention.window = config.count("sliding_window", 0, 0);
  Model model = read_form(config, form);
  for_each<Sublayer>(model.layers, [](Sublayer& sublayer) { sublayer.stream_weight = true; });
  // Of its first versions: masks by a share of the tokens, and one field for all biases.
  config.expect_off("dynamic_mask_ratio", "0: keep_window_size says how many keys are kept");
  config.expect_off("hidden_bias", "false: attention_bias and mlp_bias say which biases there are");
  if (!config.flag("is_moe", false)) {
    config.ignore({"num_experts", "num_experts_per_tok", "norm_topk_prob", "expert_retrieval_size", "num_cdmoe_experts",
                   "num_cdmoe_experts_per_head", "num_cdmoe_heads"});
    return model;
  }
  config.rename("num_local_experts", {"num_experts"});
  Mixture mixture = read_experts(config, model, 16384, 64);
  mixture.shared = mixture.expert;
  mixture.expert.d_ff = 1;
  mixture.expert.gated = mixture.expert.bias = false;
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.product_keys = true;
  set_mixture(model, mixture);
  config.ignore({"norm_topk_prob"});  // they sum to one anyway
  return model;
}

void name_doge(FamilyNames& names) {
  names.mask = "self_attn.dt_proj";
  names.mask_decay = "self_attn.A";
  names.attention_stream = "input_residual";
  names.feed_forward_stream = "post_attention_residual";
  names.mixtures = {{"mlp.router_gate", {.up = "mlp.down_embed", .down = "mlp.up_embed"}}};
  names.mixtures.front().flat = names.mixtures.front().down_transposed = true;
  names.all_experts_weight = ".weight";
  names.shared = names.feed_forward;
}

}  // namespace

std::vector<Family> routed_families() {
  return {
      {"diffllama", read_diffllama, {}, name_diffllama},
      {"doge", read_doge, {}, name_doge},
      {"jetmoe", read_jetmoe, {}, name_jetmoe},
  };
}

}  // namespace reckon
