// The GPT line: LayerNorm with shifts, plain feed-forwards, biases; from GPT-2 to Falcon and Phi.
#include <fmt/format.h>

#include <cmath>

#include "model/families.h"

namespace reckon {

namespace {

const Norm layer_norm{Norm::Kind::layer, 1e-5, true, true, false};

// GPT-2's names for the sizes; transformers takes the common ones for the same.
void rename_sizes(Fields& config) {
  config.rename("hidden_size", {"n_embd", "hidden_size"});
  config.rename("num_hidden_layers", {"n_layer", "num_hidden_layers"});
  config.rename("num_attention_heads", {"n_head", "num_attention_heads"});
  config.rename("max_position_embeddings", {"n_positions", "max_position_embeddings"});
  config.rename("intermediate_size", {"n_inner"});
  config.rename("hidden_act", {"activation_function"});
}

Form gpt_form() {
  Form form;
  form.norm = layer_norm;
  form.epsilon = "layer_norm_epsilon";
  form.activation = "gelu_new";
  form.gated = false;
  form.attention_bias = true;
  form.feed_forward_bias = true;
  form.rotary = false;
  form.widening = 4;
  form.tied = true;
  return form;
}

}  // namespace

Model read_gpt2(Fields& config) {
  rename_sizes(config);
  Form form = gpt_form();
  form.context = 1024;
  // nanoGPT's field, which transformers does not have: it finds no biases in such files and takes zeros.
  const bool bias = config.flag("bias", true);
  form.attention_bias = form.feed_forward_bias = form.norm.bias = bias;
  Model model = read_form(config, form);
  model.positions.kind = Positions::Kind::learned;

  const bool scaled = config.flag("scale_attn_weights", true);
  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  const bool cross = config.flag("add_cross_attention", false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    Attention& attention = *find<Attention>(layer);
    if (!scaled) attention.scale = 1.0;
    if (by_layer) attention.scale /= static_cast<double>(i + 1);
    if (!cross) continue;
    Sublayer across = layer.sublayers.front();
    across.kind = CrossAttention{attention.n_heads, attention.d_head, true, attention.scale};
    layer.sublayers.insert(layer.sublayers.begin() + 1, across);
  }
  // n_ctx repeats n_positions; the upcast is about precision; summaries belong to classification heads.
  config.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj", "summary_activation",
                 "summary_proj_to_labels"});
  return model;
}

Model read_gpt_neo(Fields& config) {
  config.rename("num_hidden_layers", {"num_layers", "num_hidden_layers"});
  config.rename("num_attention_heads", {"num_heads", "num_attention_heads"});
  config.rename("hidden_act", {"activation_function"});
  Model model = read_form(config, gpt_form());
  model.positions.kind = Positions::Kind::learned;

  // [[["global", "local"], 12]] means: these types of layers, twelve times over.
  const std::int64_t window = config.size("window_size", 256);
  std::vector<bool> local;
  const nlohmann::json* types = config.array("attention_types");
  static const nlohmann::json usual = nlohmann::json::parse(R"([[["global", "local"], 12]])");
  const std::string shape = "an array like [[[\"global\", \"local\"], 12]]";
  for (const nlohmann::json& group : types ? *types : usual) {
    if (!group.is_array() || group.size() != 2 || !group[0].is_array() || !group[1].is_number_integer())
      config.fail("attention_types", shape);
    const auto times = group[1].get<std::int64_t>();
    for (std::int64_t time = 0; time < times && local.size() <= model.layers.size(); ++time) {
      if (group[0].empty()) config.fail("attention_types", shape);
      for (const nlohmann::json& type : group[0]) {
        if (type != "global" && type != "local") config.fail("attention_types", shape);
        local.push_back(type == "local");
      }
    }
  }
  if (local.size() != model.layers.size())
    config.refuse(fmt::format("attention_types does not give {}, {}, types; expected one per layer",
                              config.spelled("num_hidden_layers"), model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Attention& attention = *find<Attention>(model.layers[i]);
    set_attention_bias(attention, false, true);
    attention.scale = 1.0;
    if (local[i]) attention.window = window;
  }
  // attention_layers repeats attention_types layer by layer.
  config.ignore(
      {"attention_layers", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"});
  return model;
}

Model read_gptj(Fields& config) {
  rename_sizes(config);
  Form form = gpt_form();
  form.attention_bias = false;
  form.tied = false;
  Model model = read_form(config, form);
  set_parallel(model, true);
  model.head.bias = true;
  Rope rope;
  rope.dims = config.size("rotary_dim", 64);
  rope.interleaved = true;
  const std::int64_t d_head = first_attention(model).d_head;
  if (rope.dims > d_head || rope.dims % 2 != 0)
    config.fail("rotary_dim", fmt::format("an even number of at most the {} elements of a head", d_head));
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.rope = rope; });
  config.ignore({"n_ctx", "scale_attn_weights", "summary_type", "summary_use_proj", "summary_activation",
                 "summary_proj_to_labels", "rotary"});
  return model;
}

Model read_gpt_neox(Fields& config) {
  config.rename("rope_theta", {"rotary_emb_base", "rope_theta"});
  config.rename("partial_rotary_factor", {"rotary_pct", "partial_rotary_factor"});
  Form form = gpt_form();
  form.epsilon = "layer_norm_eps";
  form.activation = "gelu";
  form.rotary = true;
  form.rope.fraction = 0.25;
  form.widening = 0;
  form.tied = false;
  form.attention_bias = config.flag("attention_bias", true);
  Model model = read_form(config, form);
  if (config.flag("use_parallel_residual", true)) set_parallel(model, false);
  return model;
}

Model read_opt(Fields& config) {
  config.rename("intermediate_size", {"ffn_dim"});
  config.rename("hidden_act", {"activation_function"});
  Form form = gpt_form();
  form.epsilon.clear();  // OPT has no such field: PyTorch's 1e-5
  form.activation = "relu";
  form.widening = 0;
  form.attention_bias = form.feed_forward_bias = config.flag("enable_bias", true);
  form.norm.weight = form.norm.bias = config.flag("layer_norm_elementwise_affine", true);
  Model model = read_form(config, form);
  model.positions = {Positions::Kind::learned, 2};
  model.d_embedding = config.size("word_embed_proj_dim", model.d_model);

  // OPT-350M alone is post-norm. It has no final norm either, and neither have some early fine-tuned files.
  const bool before = config.flag("do_layer_norm_before", true);
  const bool removed = config.flag("_remove_final_layer_norm", false);
  if (!before || removed) model.final_norm.reset();
  if (!before)
    for (Layer& layer : model.layers)
      for (Sublayer& sublayer : layer.sublayers) sublayer.norms.residual.swap(sublayer.norms.before);
  config.ignore({"prefix", "init_std", "layerdrop"});
  return model;
}

Model read_bloom(Fields& config) {
  config.rename("hidden_size", {"hidden_size", "n_embed"});
  config.rename("num_hidden_layers", {"n_layer", "num_hidden_layers"});
  config.rename("num_attention_heads", {"n_head", "num_attention_heads"});
  config.rename("max_position_embeddings", {"seq_length", "max_position_embeddings"});
  config.rename("intermediate_size", {"n_inner"});
  // ALiBi has no limit of its own; 2,048 is what BLOOM was trained with (Scao et al. 2022, table 3).
  Form form = gpt_form();
  Model model = read_form(config, form);
  model.embedding_norm = model.final_norm;
  for_each<Attention>(model.layers, [](Attention& attention) { attention.alibi = true; });
  config.expect_off("apply_residual_connection_post_layernorm",
                    "false: a residual taken after the norm is not supported");
  // Of Megatron's training run, or about precision.
  config.ignore({"attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion", "offset_alibi",
                 "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact", "unk_token_id"});
  return model;
}

Model read_falcon(Fields& config) {
  config.rename("hidden_size", {"hidden_size", "n_embed"});
  config.rename("num_hidden_layers", {"num_hidden_layers", "n_layer"});
  config.rename("num_attention_heads", {"num_attention_heads", "n_head"});
  config.rename("num_key_value_heads", {"num_kv_heads", "n_head_kv"});
  config.rename("intermediate_size", {"ffn_hidden_size"});
  config.rename("hidden_act", {"activation"});
  const bool alibi = config.flag("alibi", false);
  const bool bias = config.flag("bias", false);
  Form form = gpt_form();
  form.activation = "gelu";
  form.attention_bias = form.feed_forward_bias = bias;
  form.rotary = !alibi;
  Model model = read_form(config, form);

  const bool new_decoder = config.flag("new_decoder_architecture", false);
  const bool multi_query = config.flag("multi_query", true);
  const bool parallel = config.flag("parallel_attn", true);
  const std::int64_t parallel_norms = config.size("num_ln_in_parallel_attn", new_decoder ? 2 : 1);
  if (parallel_norms > 2) config.fail("num_ln_in_parallel_attn", "1 or 2");
  if (new_decoder && !parallel) config.fail("parallel_attn", "true, because new_decoder_architecture is");
  if (!new_decoder && parallel_norms != 1)
    config.fail("num_ln_in_parallel_attn", "1, because new_decoder_architecture is false");
  const std::int64_t d_ff = first_feed_forward(model).d_ff;
  if (config.count("ff_factor", 4) * model.d_model != d_ff && config.has("ff_factor"))
    config.fail("ff_factor", fmt::format("ffn_hidden_size / hidden_size, {} / {}", d_ff, model.d_model));
  for_each<Attention>(model.layers, [&](Attention& attention) {
    // The grouped count is only obeyed by the new decoder (FalconAttention.num_kv_heads).
    if (!new_decoder) attention.n_kv_heads = multi_query ? 1 : attention.n_heads;
    attention.alibi = alibi;
    // Falcon adds the slopes to the scores before they are scaled.
    if (alibi) attention.alibi_scale = attention.scale;
  });
  if (parallel) set_parallel(model, parallel_norms == 1);
  config.expect_off("apply_residual_connection_post_layernorm",
                    "false: a residual taken after the norm is not supported");
  if (alibi) config.ignore({"rope_theta", "rope_scaling", "rope_parameters"});
  return model;
}

Model read_phi(Fields& config) {
  Form form = gpt_form();
  form.epsilon = "layer_norm_eps";
  form.rotary = true;
  form.rope.fraction = 0.5;
  form.widening = 0;
  form.tied = false;
  Model model = read_form(config, form);
  set_parallel(model, true);
  model.head.bias = true;
  if (config.flag("qk_layernorm", false))
    for_each<Attention>(model.layers, [&](Attention& attention) { attention.query_key_norm = model.final_norm; });
  return model;
}

}  // namespace reckon
