// Families whose heads are routed, or subtracted from each other.
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
  config.ignore({"lambda_std_dev"});  // how weights were made
  return model;
}

void name_diffllama(FamilyNames& names) { names.difference = "self_attn.lambda_"; }

Model read_jetmoe(Fields& config) {
  config.rename("num_attention_heads", {"num_key_value_heads"});
  config.rename("head_dim", {"kv_channels"});
  config.rename("hidden_act", {"activation_function"});
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

}  // namespace

std::vector<Family> routed_families() {
  return {
      {"diffllama", read_diffllama, {}, name_diffllama},
      {"jetmoe", read_jetmoe, {}, name_jetmoe},
  };
}

}  // namespace reckon
