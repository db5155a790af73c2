// The families with a mixture of experts.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "model/families.h"

namespace reckon {

namespace {

// How many experts there are and how many a token takes, from the fields called so. (0: no usual number.)
Mixture read_experts(Fields& config, const std::string& experts, std::int64_t usual, const std::string& active,
                     std::int64_t usually_active) {
  Mixture mixture;
  mixture.n_experts = config.size(experts, usual);
  mixture.n_active = usually_active > 0 ? config.size(active, usually_active) : config.size(active);
  if (mixture.n_active > mixture.n_experts)
    config.fail(active, fmt::format("at most {}, {}", config.spelled(experts), mixture.n_experts));
  return mixture;
}

// DeepSeek's form: latent attention, first layers dense, shared experts.
Model read_deepseek(Fields& config, bool third) {
  Form form;
  form.rope.interleaved = third ? config.flag("rope_interleave", true) : true;
  form.context = third ? 4096 : 2048;
  // RoPE turns only its own part of a head.
  const std::int64_t d_rope = config.size("qk_rope_head_dim", 64);
  const std::int64_t d_nope = config.size("qk_nope_head_dim", 128);
  form.rotary = false;
  form.d_head = d_nope + d_rope;
  config.rename("head_dim", {"qk_head_dim"});  // the sum; what files call head_dim is the RoPE part alone
  config.ignore({"head_dim"});
  form.feed_forward_bias = third ? false : config.flag("mlp_bias", false);
  const bool bias = form.attention_bias = config.flag("attention_bias", false);
  Model model = read_form(config, form);

  Latent latent;
  const bool direct = config.present("q_lora_rank") && !config.has("q_lora_rank");
  latent.query_rank = direct ? 0 : config.size("q_lora_rank", 1536);
  latent.kv_rank = config.size("kv_lora_rank", 512);
  latent.d_nope = d_nope;
  latent.d_rope = d_rope;
  latent.down_bias = bias;
  latent.norm = {Norm::Kind::rms, 1e-6, true, false, false};  // DeepseekV2RMSNorm's own epsilon, not the config's
  Rope rope = read_rope(config, form.rope, d_rope, model.context).full;
  double scale = 1.0 / std::sqrt(static_cast<double>(d_nope + d_rope));
  if (rope.scaling != Rope::Scaling::none && rope.mscale_all_dim != 0)
    scale *= std::pow(yarn_mscale(rope.factor, rope.mscale_all_dim), 2);

  Mixture mixture = read_experts(config, "n_routed_experts", third ? 256 : 64, "num_experts_per_tok", third ? 8 : 0);
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
  const FeedForward& dense = first_feed_forward(model);
  FeedForward& expert = mixture.expert = dense;
  expert.d_ff = config.size("moe_intermediate_size", third ? 2048 : 1407);
  // In V3, transformers and DeepSeek build experts without biases; V2's mlp_bias is about the plain feed-forwards.
  expert.bias = false;
  const std::int64_t n_shared =
      config.count("n_shared_experts", config.present("n_shared_experts") ? 0 : (third ? 1 : 2));
  if (n_shared > 0) {
    mixture.shared = dense;
    mixture.shared->d_ff = n_shared * expert.d_ff;
  }
  config.expect_size("moe_layer_freq", 1, "1: every layer after the dense ones");
  const std::int64_t n_dense = config.count("first_k_dense_replace", third ? 3 : 0);

  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    Attention& attention = *find<Attention>(layer);
    if (attention.n_kv_heads != attention.n_heads)
      config.fail("num_key_value_heads",
                  fmt::format("num_attention_heads, {}, as latent attention has no groups", attention.n_heads));
    attention.d_value = config.size("v_head_dim", 128);
    attention.latent = latent;
    attention.rope = rope;
    attention.scale = scale;
    set_attention_bias(attention, false, bias);  // the projections to the latents take the others' place
    if (static_cast<std::int64_t>(i) >= n_dense) set_mixture(layer, mixture);
  }
  // About training and about how the work was spread. (The layers that predict further tokens are not part of the model
  // that transformers builds, though files may hold them: config_notes.cpp says so.)
  config.ignore({"aux_loss_alpha", "seq_aux", "ep_size", "rope_interleave"});
  return model;
}

}  // namespace

Model read_mixtral(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.context = 131072;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, "num_local_experts", 8, "num_experts_per_tok", 2);
  mixture.normalize = true;
  mixture.expert = first_feed_forward(model);
  const std::int64_t window = config.count("sliding_window", 0);
  for (Layer& layer : model.layers) set_mixture(layer, mixture);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.window = window; });
  return model;
}

Model read_qwen3_moe(Fields& config) {
  config.rename("num_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.n_kv_heads = 4;
  form.context = 32768;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, "num_experts", 128, "num_experts_per_tok", 8);
  mixture.normalize = config.flag("norm_topk_prob", false);
  mixture.expert = first_feed_forward(model);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 768);
  const std::int64_t step = config.size("decoder_sparse_step", 1);
  std::set<std::int64_t> dense;
  if (const nlohmann::json* layers = config.array("mlp_only_layers"))
    for (const nlohmann::json& layer : *layers) {
      if (!layer.is_number_integer()) config.fail("mlp_only_layers", "an array of layer numbers");
      dense.insert(layer.get<std::int64_t>());
    }
  const bool slides = config.flag("use_sliding_window", false);
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : 4096);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    Attention& attention = *find<Attention>(layer);
    const auto number = static_cast<std::int64_t>(i);
    attention.query_key_norm = model.final_norm;
    if (slides) attention.window = window;
    if (!dense.count(number) && (number + 1) % step == 0) set_mixture(layer, mixture);
  }
  config.ignore({"max_window_layers"});  // without effect in this family
  return model;
}

Model read_deepseek_v2(Fields& config) { return read_deepseek(config, false); }

Model read_deepseek_v3(Fields& config) { return read_deepseek(config, true); }

Model read_gpt_oss(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  config.rename("num_experts_per_tok", {"num_experts_per_tok", "experts_per_token"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", true);
  form.feed_forward_bias = true;
  form.rope.theta = 150000.0;
  form.n_kv_heads = 8;
  form.d_head = 64;
  form.context = 131072;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, "num_local_experts", 128, "num_experts_per_tok", 4);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.router_bias = true;
  mixture.expert = first_feed_forward(model);
  mixture.expert.clamp = config.positive("swiglu_limit", 7.0);

  Rope rope = *first_attention(model).rope;
  if (!config.has("rope_parameters") && !config.has("rope_scaling")) {  // the family's default
    rope.scaling = Rope::Scaling::yarn;
    rope.factor = 32.0;
    rope.original_context = 4096.0;
    rope.truncate = false;
  }
  for (Layer& layer : model.layers) set_mixture(layer, mixture);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.sinks = true;
    attention.rope = rope;
  });
  const std::int64_t window = config.count("sliding_window", config.present("sliding_window") ? 0 : 128);
  read_windows(config, model, window, [](std::int64_t layer) { return layer % 2 == 0; });
  config.ignore({"initial_context_length"});  // repeats the RoPE scaling's start
  return model;
}

}  // namespace reckon
