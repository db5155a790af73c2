// Further members of the GPT line: LayerNorm, plain feed-forwards, one tensor for queries, keys and values.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

Model read_gpt_bigcode(Fields& config) {
  rename_sizes(config);
  Form form = gpt_form();
  form.activation = "gelu_pytorch_tanh";
  form.context = 1024;
  if (!config.flag("scale_attn_weights", true)) form.attention.scale = 1.0;
  config.expect_off("add_cross_attention", "false: cross-attention is not supported in this family");
  const bool shared = config.flag("multi_query", true);
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [&](Attention& attention) {  // whatever num_key_value_heads says
    attention.n_kv_heads = shared ? 1 : attention.n_heads;
  });
  model.positions.kind = Positions::Kind::learned;
  config.expect_off("scale_attn_by_inverse_layer_idx", "false: scores are not divided by the layer's number here");
  config.ignore(summary_fields);
  // Precision, and how its first code ran.
  config.ignore({"n_ctx", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner",
                 "max_batch_size", "pad_key_length", "pre_allocate_kv_cache", "validate_runner_input",
                 "reorder_and_upcast_attn"});
  return model;
}

void name_gpt_bigcode(FamilyNames& names) {
  name_gpt2(names);
  names.transposed = false;
  names.by_group = true;
}

Model read_nemotron(Fields& config) {
  Form form = layer_norm_form("norm_eps", true);
  form.norm.weight_plus_one = true;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  form.activation = "relu2";
  form.gated = false;
  form.rope.fraction = 0.5;
  form.context = 4096;
  config.rename("partial_rotary_factor", {"partial_rotary_factor", "rope_percent", "rope_percentage"});
  Model model = read_form(config, form);
  const std::int64_t d_head = first_attention(model).d_head;
  config.expect_size("kv_channels", d_head, fmt::format("the elements of a head, {}", d_head));
  return model;
}

Model read_codegen(Fields& config) {
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
  const Attention& attention = first_attention(model);
  if (rope.dims > attention.d_head || rope.dims % 2 != 0)
    config.fail("rotary_dim", fmt::format("an even number of at most the {} elements of a head", attention.d_head));
  if (attention.n_heads % 4 != 0)
    config.fail("num_attention_heads", "a multiple of 4: its files hold heads in 4 blocks");
  for_each<Attention>(model.layers, [&](Attention& each) { each.rope = rope; });
  config.ignore(summary_fields);
  expect_gptj(config);
  config.ignore({"n_ctx"});
  return model;
}

void name_codegen(FamilyNames& names) {
  name_gptj(names);
  names.query_key_value = "attn.qkv_proj";
  names.blocks = 4;
}

// fairseq's form: norms with PyTorch's epsilon, positions two rows in, an embedding times √d.
Form fairseq_form() {
  Form form = gpt_form();
  form.epsilon_field = "";
  form.activation = "gelu";
  form.widening = 0;
  return form;
}

Model read_biogpt(Fields& config) {
  Form form = fairseq_form();
  form.context = 1024;
  Model model = read_form(config, form);
  model.positions = {Positions::Kind::learned, 2};
  if (config.flag("scale_embedding", true)) model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  config.ignore({"layer_norm_eps"});  // which no norm takes
  return model;
}

void name_biogpt(FamilyNames& names) {
  name_opt(names);
  names.prefixes = {"biogpt.", ""};
  names.heads = {"output_projection"};
  names.final_norm = "layer_norm";
}

Model read_xglm(Fields& config) {
  config.rename("hidden_size", {"d_model", "hidden_size"});
  config.rename("num_hidden_layers", {"num_layers", "num_hidden_layers"});
  config.rename("num_attention_heads", {"attention_heads", "num_attention_heads"});
  config.rename("intermediate_size", {"ffn_dim"});
  config.rename("hidden_act", {"activation_function"});
  Model model = read_form(config, fairseq_form());
  model.positions = {Positions::Kind::sinusoidal_halves, 2};
  if (config.flag("scale_embedding", true)) model.embedding_scale = std::sqrt(static_cast<double>(model.d_model));
  config.expect_off("add_cross_attention", "false: cross-attention is not supported in this family");
  return model;
}

void name_xglm(FamilyNames& names) {
  name_opt(names);
  names.prefixes = {"model.", ""};
  names.final_norm = "layer_norm";
}

// The first GPT: norms after each residual sum, none at the end.
Model read_openai_gpt(Fields& config) {
  rename_sizes(config);
  config.rename("hidden_act", {"afn"});
  Form form = gpt_form();
  form.activation = "gelu";
  form.norm_before = false;
  form.norm_residual = true;
  form.context = 512;
  Model model = read_form(config, form);
  for_each<FeedForward>(model.layers, [](FeedForward& feed_forward) {  // its "gelu" is the approximation
    if (feed_forward.activation == Activation::gelu) feed_forward.activation = Activation::gelu_tanh;
  });
  model.positions.kind = Positions::Kind::learned;
  model.final_norm.reset();
  config.ignore(summary_fields);
  config.ignore({"n_ctx", "predict_special_tokens", "n_special"});
  return model;
}

void name_openai_gpt(FamilyNames& names) {
  name_gpt2(names);
  names.token_embedding = "tokens_embed";
  names.position_embedding = "positions_embed";
  names.attention_norm_residual = "ln_1";
  names.feed_forward_norm_residual = "ln_2";
}

Model read_mpt(Fields& config) {
  config.rename("hidden_size", {"d_model", "hidden_size"});
  config.rename("num_hidden_layers", {"n_layers", "num_hidden_layers"});
  config.rename("num_attention_heads", {"n_heads", "num_attention_heads"});
  config.rename("max_position_embeddings", {"max_seq_len", "max_position_embeddings"});
  Form form;
  form.norm = {Norm::Kind::layer, 1e-5, true, false, false};
  form.epsilon_field = "layer_norm_epsilon";
  form.activation = "gelu";
  form.gated = false;
  form.widening = 4;
  form.rotary = false;
  form.tied = true;
  form.attention.alibi = true;
  if (std::optional<Fields> attention = config.object("attn_config")) {
    form.attention.clip = attention->number("clip_qkv", 0.0);
    form.attention.scale = attention->number("softmax_scale", 0.0);
    attention->expect_word("attn_type", "multihead_attention", "multihead_attention");
    attention->expect_off("prefix_lm", "false: only causal models are supported");
    attention->expect_off("qk_ln", "false: norms of queries and keys are not supported in this family");
    if (!attention->flag("alibi", true)) attention->fail("alibi", "true");
    if (attention->number("alibi_bias_max", 8) != 8) attention->fail("alibi_bias_max", "8");
    attention->ignore({"attn_impl", "attn_pdrop", "attn_uses_sequence_id", "model_type", "dtype", "torch_dtype",
                       "transformers_version"});  // how it is computed, and what transformers writes everywhere
    attention->refuse_unread("mpt");
  }
  if (std::optional<Fields> feed_forward = config.object("ffn_config")) {
    feed_forward->expect_word("ffn_type", "mptmlp", "mptmlp");
    feed_forward->ignore({"fc_type"});
    feed_forward->refuse_unread("mpt");
  }
  config.expect_size("expansion_ratio", form.widening, "4: its feed-forward is four times as wide as the stream");
  const std::string norm = config.word("norm_type", "layernorm");
  if (norm != "layernorm" && norm != "low_precision_layernorm")
    config.fail("norm_type", "layernorm or low_precision_layernorm");
  Model model = read_form(config, form);
  if (!config.flag("no_bias", true)) config.fail("no_bias", "true");
  if (config.number("embedding_fraction", 1.0) != 1.0) config.fail("embedding_fraction", "1");
  config.expect_off("logit_scale", "null");
  // Learned positions are for models without ALiBi; the others say how it is computed and how weights began.
  config.ignore({"learned_pos_emb", "init_device", "init_config", "verbose", "resid_pdrop", "emb_pdrop", "fc_type",
                 "use_pad_tok_in_ffn", "tokenizer_name"});
  return model;
}

void name_mpt(FamilyNames& names) {
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "blocks.{}.";
  names.token_embedding = "wte";
  names.final_norm = "norm_f";
  names.attention_norm = "norm_1";
  names.feed_forward_norm = "norm_2";
  names.query_key_value = "attn.Wqkv";
  names.output = "attn.out_proj";
  names.feed_forward.up = "ffn.up_proj";
  names.feed_forward.down = "ffn.down_proj";
}

Model read_persimmon(Fields& config) {
  Form form = gpt_form();
  form.epsilon_field = "layer_norm_eps";
  form.activation = "relu2";
  form.rotary = true;
  form.rope.fraction = 0.5;
  form.widening = 0;
  form.tied = false;
  form.context = 16384;
  form.query_key_norm = config.flag("qk_layernorm", true);
  return read_form(config, form);
}

void name_persimmon(FamilyNames& names) {
  name_megatron(names);
  names.final_norm = "final_layernorm";
  names.query_key_value = "self_attn.query_key_value";
  names.output = "self_attn.dense";
  names.query_norm = "self_attn.q_layernorm";
  names.key_norm = "self_attn.k_layernorm";
}

// One bias in all: that of the last layer's attention.
Model read_gpt_neox_japanese(Fields& config) {
  config.rename("rope_theta", {"rotary_emb_base", "rope_theta"});
  config.rename("partial_rotary_factor", {"rotary_pct", "partial_rotary_factor"});
  Form form = gpt_form();
  form.epsilon_field = "layer_norm_eps";
  form.activation = "gelu";
  form.attention_bias = form.feed_forward_bias = false;
  form.rotary = true;
  form.widening = config.size("intermediate_multiple_size", 4);
  Model model = read_form(config, form);
  find<Attention>(model.layers.back())->output_bias = true;
  return model;
}

void name_gpt_neox_japanese(FamilyNames& names) {
  name_megatron(names);
  names.prefixes = {"gpt_neox_japanese.", ""};
  names.heads = {"embed_out"};
  names.token_embedding = "embed_in";
  names.final_norm = "final_layer_norm";
  names.query_key_value = "attention.query_key_value";
  names.output = "attention.dense";
  names.output_bias = "attention.dense_bias";
}

}  // namespace

std::vector<Family> later_gpt_families() {
  return {
      {"biogpt", read_biogpt, {42384, 1024, 4096, 24, 16}, name_biogpt},
      {"codegen", read_codegen, {}, name_codegen},
      {"gpt-sw3", read_gpt2, {}, name_gpt2, "gpt2"},
      {"gpt_bigcode", read_gpt_bigcode, {}, name_gpt_bigcode},
      {"gpt_neox_japanese", read_gpt_neox_japanese, {}, name_gpt_neox_japanese},
      {"mpt", read_mpt, {}, name_mpt},
      {"nemotron", read_nemotron, {256000, 6144, 24576, 32, 48}},
      {"openai-gpt", read_openai_gpt, {}, name_openai_gpt},
      {"persimmon", read_persimmon, {262144, 4096, 16384, 36, 64}, name_persimmon},
      {"xglm", read_xglm, {}, name_xglm},
  };
}

}  // namespace reckon
