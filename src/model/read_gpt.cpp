// The GPT line: LayerNorm with shifts, plain feed-forwards, biases; from GPT-2 to Falcon and Phi.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

const Norm layer_norm{Norm::Kind::layer, 1e-5, true, true, false};

}  // namespace

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
  form.epsilon_field = "layer_norm_epsilon";
  form.activation = "gelu_new";
  form.gated = false;
  form.attention_bias = true;
  form.feed_forward_bias = true;
  form.rotary = false;
  form.widening = 4;
  form.tied = true;
  return form;
}

// Belong to classification heads.
const std::initializer_list<Text> summary_fields{"summary_type", "summary_use_proj", "summary_activation",
                                                 "summary_proj_to_labels"};

Model read_gpt2(Fields& config) {
  rename_sizes(config);
  Form form = gpt_form();
  form.context = 1024;
  // nanoGPT's field, which transformers does not have: it finds no biases in such files and takes zeros.
  read_bias(config, form, "bias", true);
  form.norm.bias = form.attention_bias;
  if (!config.flag("scale_attn_weights", true)) form.attention.scale = 1.0;
  Model model = read_form(config, form);
  model.positions.kind = Positions::Kind::learned;

  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  const bool cross = config.flag("add_cross_attention", false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    Attention& attention = *find<Attention>(layer);
    if (by_layer) attention.scale /= static_cast<double>(i + 1);
    if (!cross) continue;
    Sublayer across = layer.sublayers.front();
    across.kind = CrossAttention{attention.n_heads, attention.d_head, true, attention.scale};
    layer.sublayers.insert(layer.sublayers.begin() + 1, across);
  }
  config.ignore(summary_fields);
  config.ignore({"n_ctx", "reorder_and_upcast_attn"});  // n_positions again; about precision
  return model;
}

void name_gpt(FamilyNames& names) {
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "h.{}.";
  names.token_embedding = "wte";
  names.position_embedding = "wpe";
  names.final_norm = "ln_f";
  names.attention_norm = "ln_1";
  names.feed_forward_norm = "ln_2";
  names.feed_forward.up = "mlp.c_fc";
  names.feed_forward.down = "mlp.c_proj";
}

void name_gpt2(FamilyNames& names) {
  name_gpt(names);
  names.transposed = true;
  names.query_key_value = "attn.c_attn";
  names.output = "attn.c_proj";
  names.cross_norm = "ln_cross_attn";
  names.cross_query = "crossattention.q_attn";
  names.cross_key_value = "crossattention.c_attn";
  names.cross_output = "crossattention.c_proj";
}

namespace {

Model read_gpt_neo(Fields& config) {
  config.rename("num_hidden_layers", {"num_layers", "num_hidden_layers"});
  config.rename("num_attention_heads", {"num_heads", "num_attention_heads"});
  config.rename("hidden_act", {"activation_function"});
  config.rename("sliding_window", {"window_size"});
  Form form = gpt_form();
  form.qkv_bias = false;
  form.attention.scale = 1.0;
  Model model = read_form(config, form);
  model.positions.kind = Positions::Kind::learned;

  // [[["global", "local"], 12]] means: these types of layers, twelve times over.
  const std::int64_t window = config.size("sliding_window", 256);
  std::vector<bool> local;
  const nlohmann::json* types = config.array("attention_types");
  constexpr auto shape = "an array like [[[\"global\", \"local\"], 12]]";
  if (types == nullptr) {
    for (int layer = 0; layer < 24; ++layer) local.push_back(layer % 2 == 1);
  } else {
    for (const nlohmann::json& group : *types) {
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
  }
  if (local.size() != model.layers.size())
    config.refuse(fmt::format("attention_types does not give {}, {}, types; expected one per layer",
                              config.spelled("num_hidden_layers"), model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (local[i]) find<Attention>(model.layers[i])->window = window;
  config.ignore(summary_fields);
  if (const nlohmann::json* layers = config.array("attention_layers")) {
    bool same = layers->size() == local.size();
    for (std::size_t i = 0; same && i < local.size(); ++i) same = (*layers)[i] == (local[i] ? "local" : "global");
    if (!same) config.fail("attention_layers", "what attention_types says, layer by layer");
  }
  return model;
}

void name_gpt_neo(FamilyNames& names) {
  name_gpt(names);
  names.query = "attn.attention.q_proj";
  names.key = "attn.attention.k_proj";
  names.value = "attn.attention.v_proj";
  names.output = "attn.attention.out_proj";
}

}  // namespace

void expect_gptj(Fields& config) {
  config.expect_on("scale_attn_weights", "true: scores are divided by the root of a head's width");
  config.expect_on("rotary", "true: positions are rotary in this family");
}

namespace {

Model read_gptj(Fields& config) {
  rename_sizes(config);
  Form form = gpt_form();
  form.attention_bias = false;
  form.tied = false;
  form.feed_forward_reads = Sublayer::Reads::first;
  Model model = read_form(config, form);
  model.head.bias = true;
  Rope rope;
  rope.dims = config.size("rotary_dim", 64);
  rope.interleaved = true;
  const std::int64_t d_head = first_attention(model).d_head;
  if (rope.dims > d_head || rope.dims % 2 != 0)
    config.fail("rotary_dim", fmt::format("an even number of at most the {} elements of a head", d_head));
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.rope = rope; });
  config.ignore(summary_fields);
  expect_gptj(config);
  config.ignore({"n_ctx"});
  return model;
}

}  // namespace

void name_gptj(FamilyNames& names) {
  name_gpt(names);
  names.query = "attn.q_proj";
  names.key = "attn.k_proj";
  names.value = "attn.v_proj";
  names.output = "attn.out_proj";
  names.feed_forward.up = "mlp.fc_in";
  names.feed_forward.down = "mlp.fc_out";
}

namespace {

Model read_gpt_neox(Fields& config) {
  config.rename("rope_theta", {"rotary_emb_base", "rope_theta"});
  config.rename("partial_rotary_factor", {"rotary_pct", "partial_rotary_factor"});
  Form form = gpt_form();
  form.epsilon_field = "layer_norm_eps";
  form.activation = "gelu";
  form.rotary = true;
  form.rope.fraction = 0.25;
  form.widening = 0;
  form.tied = false;
  form.attention_bias = config.flag("attention_bias", true);
  if (config.flag("use_parallel_residual", true)) form.feed_forward_reads = Sublayer::Reads::entry;
  return read_form(config, form);
}

}  // namespace

// What GPT-NeoX, BLOOM and Falcon share: Megatron's names for the feed-forward, q/k/v by group of heads.
void name_megatron(FamilyNames& names) {
  names.by_group = true;
  names.feed_forward.up = "mlp.dense_h_to_4h";
  names.feed_forward.down = "mlp.dense_4h_to_h";
}

namespace {

void name_gpt_neox(FamilyNames& names) {
  name_megatron(names);
  names.prefixes = {"gpt_neox.", ""};
  names.heads = {"embed_out", "lm_head"};
  names.token_embedding = "embed_in";
  names.final_norm = "final_layer_norm";
  names.query_key_value = "attention.query_key_value";
  names.output = "attention.dense";
}

Model read_opt(Fields& config) {
  config.rename("intermediate_size", {"ffn_dim"});
  config.rename("hidden_act", {"activation_function"});
  Form form = gpt_form();
  form.epsilon_field = "";  // OPT has no such field: PyTorch's 1e-5
  form.activation = "relu";
  form.widening = 0;
  read_bias(config, form, "enable_bias", true);
  form.norm.weight = form.norm.bias = config.flag("layer_norm_elementwise_affine", true);
  // OPT-350M alone is post-norm. It has no final norm either, and neither have some early fine-tuned files.
  form.norm_before = config.flag("do_layer_norm_before", true);
  form.norm_residual = !form.norm_before;
  Model model = read_form(config, form);
  model.positions = {Positions::Kind::learned, 2};
  model.d_embedding = config.size("word_embed_proj_dim", model.d_model);
  const bool removed = config.flag("_remove_final_layer_norm", false);
  if (!form.norm_before || removed) model.final_norm.reset();
  return model;
}

}  // namespace

void name_opt(FamilyNames& names) {
  names.prefixes = {"model.decoder.", "decoder.", ""};
  names.position_embedding = "embed_positions";
  names.embedding_project = "project_in";
  names.head_project = "project_out";
  names.final_norm = "final_layer_norm";
  names.attention_norm = names.attention_norm_residual = "self_attn_layer_norm";  // before, but after in 350M
  names.feed_forward_norm = names.feed_forward_norm_residual = "final_layer_norm";
  names.output = "self_attn.out_proj";
  names.feed_forward.up = "fc1";
  names.feed_forward.down = "fc2";
}

namespace {

Model read_bloom(Fields& config) {
  config.rename("hidden_size", {"hidden_size", "n_embed"});
  config.rename("num_hidden_layers", {"n_layer", "num_hidden_layers"});
  config.rename("num_attention_heads", {"n_head", "num_attention_heads"});
  config.rename("max_position_embeddings", {"seq_length", "max_position_embeddings"});
  config.rename("intermediate_size", {"n_inner"});
  // ALiBi has no limit of its own; 2,048 is what BLOOM was trained with (Scao et al. 2022, table 3).
  Form form = gpt_form();
  form.attention.alibi = true;
  Model model = read_form(config, form);
  model.embedding_norm = model.final_norm;
  config.expect_off("apply_residual_connection_post_layernorm",
                    "false: a residual taken after the norm is not supported");
  // Of Megatron's training run, or about precision.
  config.ignore({"attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion", "offset_alibi",
                 "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact", "unk_token_id"});
  return model;
}

void name_bloom(FamilyNames& names) {
  name_megatron(names);
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "h.{}.";
  names.token_embedding = "word_embeddings";
  names.embedding_norm = "word_embeddings_layernorm";
  names.final_norm = "ln_f";
  names.query_key_value = "self_attention.query_key_value";
  names.output = "self_attention.dense";
}

Model read_falcon(Fields& config) {
  config.rename("hidden_size", {"hidden_size", "n_embed"});
  config.rename("num_hidden_layers", {"num_hidden_layers", "n_layer"});
  config.rename("num_attention_heads", {"num_attention_heads", "n_head"});
  config.rename("num_key_value_heads", {"num_kv_heads", "n_head_kv"});
  config.rename("intermediate_size", {"ffn_hidden_size"});
  config.rename("hidden_act", {"activation"});
  const bool alibi = config.flag("alibi", false);
  Form form = gpt_form();
  form.activation = "gelu";
  read_bias(config, form, "bias", false);
  form.rotary = !alibi;
  form.attention.alibi = alibi;

  const bool new_decoder = config.flag("new_decoder_architecture", false);
  const bool multi_query = config.flag("multi_query", true);
  const bool parallel = config.flag("parallel_attn", true);
  const std::int64_t parallel_norms = config.size("num_ln_in_parallel_attn", new_decoder ? 2 : 1);
  if (parallel_norms > 2) config.fail("num_ln_in_parallel_attn", "1 or 2");
  if (new_decoder && !parallel) config.fail("parallel_attn", "true, because new_decoder_architecture is");
  if (!new_decoder && parallel_norms != 1)
    config.fail("num_ln_in_parallel_attn", "1, because new_decoder_architecture is false");
  if (parallel) form.feed_forward_reads = parallel_norms == 1 ? Sublayer::Reads::first : Sublayer::Reads::entry;
  Model model = read_form(config, form);
  const std::int64_t d_ff = first_feed_forward(model).d_ff;
  if (config.count("ff_factor", 4) * model.d_model != d_ff && config.has("ff_factor"))
    config.fail("ff_factor", fmt::format("ffn_hidden_size / hidden_size, {} / {}", d_ff, model.d_model));
  for_each<Attention>(model.layers, [&](Attention& attention) {
    // The grouped count is only obeyed by the new decoder (FalconAttention.num_kv_heads).
    if (!new_decoder) attention.n_kv_heads = multi_query ? 1 : attention.n_heads;
    // Falcon adds the slopes to the scores before they are scaled.
    if (alibi) attention.alibi_scale = attention.scale;
  });
  config.expect_off("apply_residual_connection_post_layernorm",
                    "false: a residual taken after the norm is not supported");
  if (alibi) config.ignore({"rope_theta", "rope_scaling", "rope_parameters"});
  return model;
}

void name_falcon(FamilyNames& names) {
  name_bloom(names);
  names.parallel_attention_norm = "ln_attn";
  names.parallel_feed_forward_norm = "ln_mlp";
}

Model read_phi(Fields& config) {
  Form form = gpt_form();
  form.epsilon_field = "layer_norm_eps";
  form.rotary = true;
  form.rope.fraction = 0.5;
  form.widening = 0;
  form.tied = false;
  form.feed_forward_reads = Sublayer::Reads::first;
  form.query_key_norm = config.flag("qk_layernorm", false);
  config.ignore({"attention_bias", "rotary_dim"});  // Phi-1's file has them; there are biases all the same
  Model model = read_form(config, form);
  model.head.bias = true;
  return model;
}

void name_phi(FamilyNames& names) {
  names.final_norm = "final_layernorm";
  names.output = "self_attn.dense";
  names.query_norm = "self_attn.q_layernorm";
  names.key_norm = "self_attn.k_layernorm";
  names.feed_forward.up = "mlp.fc1";
  names.feed_forward.down = "mlp.fc2";
}

}  // namespace

std::vector<Family> gpt_families() {
  return {
      {"bloom", read_bloom, {}, name_bloom},
      {"falcon", read_falcon, {}, name_falcon},
      {"gpt2", read_gpt2, {}, name_gpt2},
      {"gpt_neo", read_gpt_neo, {}, name_gpt_neo},
      {"gpt_neox", read_gpt_neox, {}, name_gpt_neox},
      {"gptj", read_gptj, {}, name_gptj},
      {"opt", read_opt, {}, name_opt},
      {"phi", read_phi, {51200, 2048, 8192, 24, 32}, name_phi},
  };
}

}  // namespace reckon
