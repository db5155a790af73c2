// The families with latent attention, and DeepSeek V3's mixture, which others have too.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

Form latent_form(Fields& config, const LatentDefaults& defaults) {
  const bool bias = config.flag("attention_bias", false);
  Latent latent;
  latent.query_rank = config.size("q_lora_rank", defaults.query_rank, 0);
  latent.kv_rank = config.size("kv_lora_rank", defaults.kv_rank);
  latent.d_nope = config.size("qk_nope_head_dim", defaults.d_nope);
  latent.d_rope = config.size("qk_rope_head_dim", defaults.d_rope);
  latent.down_bias = bias;
  latent.norm = {Norm::Kind::rms, 1e-6, true, false, false};  // DeepseekV2RMSNorm's own epsilon, not the config's
  Form form;
  form.d_head = latent.d_nope + latent.d_rope;
  config.rename("head_dim", {"qk_head_dim"});  // the sum; what files call head_dim is the RoPE part alone
  config.ignore({"head_dim"});
  form.attention_bias = bias;
  form.qkv_bias = false;  // the projections to the latents take their place
  form.attention.latent = latent;
  form.attention.d_value = config.size("v_head_dim", defaults.d_value);
  return form;
}

Model read_latent_form(Fields& config, const Form& form) {
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
  return model;
}

namespace {

// So many groups of experts, of which so many are chosen from.
void read_groups(Fields& config, Mixture& mixture, std::int64_t groups, std::int64_t active_groups) {
  mixture.n_groups = config.size("n_group", groups, 1);
  mixture.n_active_groups = config.size("topk_group", active_groups, 1);
  if (mixture.n_experts % mixture.n_groups != 0)
    config.fail("n_group", fmt::format("a divisor of {}, {}", config.spelled("num_local_experts"), mixture.n_experts));
  if (mixture.n_active_groups > mixture.n_groups)
    config.fail("topk_group", fmt::format("at most n_group, {}", mixture.n_groups));
}

// The widths of the experts, and of those that are shared.
void read_widths(Fields& config, Mixture& mixture, std::int64_t d_expert, std::int64_t shared) {
  d_expert = d_expert > 0 ? config.size("moe_intermediate_size", d_expert) : config.size("moe_intermediate_size");
  const std::int64_t n_shared = config.count("n_shared_experts", shared, 0);
  if (n_shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = n_shared * d_expert;
  }
  mixture.expert.d_ff = d_expert;
  // transformers and DeepSeek build experts without biases; mlp_bias is about the plain feed-forwards.
  mixture.expert.bias = false;
}

// About training and about how the work was spread. (The layers that predict further tokens are not part of the model
// that transformers builds, though files may hold them: a note says so.)
const std::initializer_list<Text> deepseek_harmless{"aux_loss_alpha", "seq_aux", "ep_size", "rope_interleave"};

Model read_deepseek_v2(Fields& config) {
  Form form = latent_form(config, {});
  form.rope.interleaved = true;
  form.feed_forward_bias = config.flag("mlp_bias", false);
  Model model = read_latent_form(config, form);
  config.rename("num_local_experts", {"n_routed_experts"});
  Mixture mixture = read_experts(config, model, 64, 0);
  mixture.scale = config.positive("routed_scaling_factor", 1.0);
  const std::string method = config.word("topk_method", "greedy");
  if (method != "greedy" && method != "group_limited_greedy")
    config.fail("topk_method", "greedy or group_limited_greedy");
  config.expect_word("scoring_func", "softmax", "softmax");
  // transformers and DeepSeek's own code disagree about what a true would mean in V2.
  config.expect_off("norm_topk_prob", "false in deepseek_v2");
  if (method != "greedy") read_groups(config, mixture, 1, 1);
  config.ignore({"n_group", "topk_group"});
  read_widths(config, mixture, 1407, 2);
  set_mixture(model, mixture, read_sparse_layers(config, model, 0));
  config.ignore(deepseek_harmless);
  return model;
}

}  // namespace

Model read_third(Fields& config, Form form, const SigmoidMixture& defaults, std::int64_t first) {
  form.rope.interleaved = config.flag("rope_interleave", true);
  Model model = read_latent_form(config, form);
  const LayerRule sparse = read_sparse_layers(config, model, first);
  if (config.has("first_k_dense_replace")) {
    const std::int64_t dense = config.count("first_k_dense_replace", first);
    for (std::int64_t i = 0; i < std::ssize(model.layers); ++i)
      if (sparse(i) != (i >= dense)) config.fail("first_k_dense_replace", "how many dense layers come first");
  }
  set_mixture(model, read_sigmoid_mixture(config, model, defaults), sparse);
  config.ignore(deepseek_harmless);
  return model;
}

namespace {

constexpr SigmoidMixture deepseek_v3_mixture{256, 8, 1, 2048, 8, 4, 2.5, true};

Model read_deepseek_v3(Fields& config) {
  Form form = latent_form(config, {});
  form.context = 4096;
  return read_third(config, form, deepseek_v3_mixture, 3);
}

Model read_axk1(Fields& config) {
  Form form = latent_form(config, {});
  form.context = 32768;
  Model model = read_third(config, form, {192, 8, 1, 2048, 8, 4, 2.5, true}, 1);
  for_each<Sublayer>(model.layers, [](Sublayer& sublayer) {
    if (std::holds_alternative<Mixture>(sublayer.kind)) sublayer.norms.after = sublayer.norms.before;
  });
  return model;
}

void name_axk1(FamilyNames& names) {
  name_deepseek(names);
  names.mixture_norm_after = "post_mlp_layernorm";
}

Model read_glm4_moe_lite(Fields& config) {
  Form form = latent_form(config, {768, 512, 192, 64, 256});
  form.norm.epsilon = 1e-5;
  form.context = 202752;
  return read_third(config, form, {64, 4, 1, 1536, 1, 1, 1.8, true}, 1);
}

Model read_youtu(Fields& config) {
  Form form = latent_form(config, {});
  form.context = 131072;
  form.tied = true;
  form.rope.interleaved = config.flag("rope_interleave", true);
  config.ignore({"embedding_initializer_range", "mlp_bias"});
  return read_latent_form(config, form);
}

// What scales queries by position stands among the RoPE parameters; so do defaults where there are none.
std::optional<PositionScale> read_position_scale(Fields& config, double original_context) {
  PositionScale scale{0.1, original_context, 0};
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    std::optional<Fields> rope = config.object(name);
    if (!rope) continue;
    if (!rope->has("llama_4_scaling_beta")) rope->fail("llama_4_scaling_beta", "a number");
    scale.beta = rope->number("llama_4_scaling_beta", 0.1);
    scale.length = rope->positive("original_max_position_embeddings", original_context);
    break;
  }
  if (scale.beta == 0.0) return std::nullopt;
  return scale;
}

// Mistral's default: YaRN from that context on, with the cosines and sines as they are.
void set_default_yarn(Fields& config, Model& model, double theta, double factor, double original_context) {
  if (config.has("rope_parameters") || config.has("rope_scaling")) return;
  for_each<Attention>(model.layers, [&](Attention& attention) {
    Rope& rope = *attention.rope;
    rope.scaling = Rope::Scaling::yarn;
    rope.theta = config.positive("rope_theta", theta);
    rope.factor = factor;
    rope.original_context = original_context;
    rope.mscale = rope.mscale_all_dim = 1.0;
  });
}

Model read_ministral3(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 262144;
  form.attention.window = config.count("sliding_window", 0);
  form.attention.position_scale = read_position_scale(config, 16384);
  Model model = read_form(config, form);
  set_default_yarn(config, model, 1e6, 16, 16384);
  return model;
}

Model read_mistral4(Fields& config) {
  Form form = latent_form(config, {1024, 256, 64, 64, 128});
  form.context = 1048576;
  form.rope.interleaved = config.flag("rope_interleave", true);
  form.rope.of_whole_head = true;
  const Latent& latent = *form.attention.latent;
  form.rope.fraction = static_cast<double>(latent.d_rope) / static_cast<double>(latent.d_nope + latent.d_rope);
  form.attention.position_scale = read_position_scale(config, 8192);
  Model model = read_form(config, form);
  set_default_yarn(config, model, 1e4, 128, 8192);
  const Attention& attention = first_attention(model);
  if (attention.rope->mscale_all_dim != 0) {
    const double scale =
        attention.scale * std::pow(yarn_mscale(attention.rope->factor, attention.rope->mscale_all_dim), 2);
    for_each<Attention>(model.layers, [&](Attention& each) { each.scale = scale; });
  }
  Mixture mixture = read_sigmoid_mixture(config, model, {128, 4, 1, 2048, 1, 1, 1.0, true});
  mixture.scores = Mixture::Scores::softmax;
  mixture.correction_bias = false;
  set_mixture(model, mixture, read_sparse_layers(config, model, 0));
  config.ignore(deepseek_harmless);
  return model;
}

Model read_minicpm3(Fields& config) {
  const std::int64_t heads = config.size("num_attention_heads"), width = config.size("hidden_size");
  Form form = latent_form(config, {768, 256, 64, 32, width / heads});
  form.norm.epsilon = 1e-5;
  form.feed_forward_bias = config.flag("mlp_bias", false);
  form.context = 32768;
  form.tied = true;
  const auto layers = static_cast<double>(config.size("num_hidden_layers"));
  const double depth = config.number("scale_depth", 1.4, std::sqrt(layers));
  form.residual_scale = depth / std::sqrt(layers);
  Model model = read_latent_form(config, form);
  model.embedding_scale = config.positive("scale_emb", 12);
  const auto base = static_cast<double>(config.size("dim_model_base", 256, width));
  model.head.scale = base / static_cast<double>(width);
  config.ignore({"rope_interleave"});
  return model;
}

}  // namespace

Mixture read_sigmoid_mixture(Fields& config, const Model& model, const SigmoidMixture& defaults) {
  if (config.spellings("num_local_experts").size() == 1)
    config.rename("num_local_experts", {"n_routed_experts", "num_local_experts"});
  Mixture mixture = read_experts(config, model, defaults.experts, defaults.active);
  mixture.scale = config.positive("routed_scaling_factor", defaults.scale);
  config.expect_word("topk_method", "noaux_tc", "noaux_tc");
  config.expect_word("scoring_func", "sigmoid", "sigmoid");
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = true;
  mixture.normalize = config.flag("norm_topk_prob", defaults.normalize);
  mixture.group_top = 2;
  read_groups(config, mixture, defaults.groups, defaults.active_groups);
  read_widths(config, mixture, defaults.d_expert, defaults.shared);
  return mixture;
}

LayerRule read_sparse_layers(Fields& config, const Model& model, std::int64_t first) {
  first = config.count("first_k_dense_replace", first);
  // `moe_layer_freq` is 1, or MiMo's: a 0 or 1 for each layer.
  const nlohmann::json* numbers = config.value("moe_layer_freq");
  const bool numbered = numbers != nullptr && numbers->is_array();
  if (!numbered) config.expect_size("moe_layer_freq", 1, "1: every layer after the dense ones");
  const std::string field = config.has("mlp_layer_types") || !numbered ? "mlp_layer_types" : "moe_layer_freq";
  const nlohmann::json* types = config.array(field);
  if (types == nullptr) return [=](std::int64_t layer) { return layer >= first; };
  if (types->size() != model.layers.size())
    config.fail(field, fmt::format("{} entries, one per layer", model.layers.size()));
  std::vector<bool> sparse;
  for (const nlohmann::json& type : *types) {
    const bool dense = type == "dense" || type == 0;
    if (!dense && type != "sparse" && type != 1) config.fail(field, "an array of dense and sparse, or of 0 and 1");
    sparse.push_back(!dense);
  }
  return [=](std::int64_t layer) { return sparse[static_cast<std::size_t>(layer)]; };
}

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

std::vector<Family> latent_families() {
  return {
      {"axk1", read_axk1, {163840, 7168, 18432, 61, 64}, name_axk1},
      {"deepseek_v2", read_deepseek_v2, {102400, 4096, 11008, 32, 32}, name_deepseek},
      {"deepseek_v3", read_deepseek_v3, {129280, 7168, 18432, 61, 128}, name_deepseek},
      {"glm4_moe_lite", read_glm4_moe_lite, {154880, 2048, 10240, 47, 20}, name_deepseek},
      {"kimi_k2", read_deepseek_v3, {}, name_deepseek, "deepseek_v3"},
      {"minicpm3", read_minicpm3, {73448, 2560, 6400, 62, 40}, name_deepseek},
      {"ministral3", read_ministral3, {131072, 4096, 14336, 34, 32}},
      {"mistral4", read_mistral4, {131072, 4096, 12288, 36, 32}, name_deepseek},
      {"youtu", read_youtu, {128256, 2048, 6144, 32, 16}, name_deepseek},
  };
}

}  // namespace reckon
