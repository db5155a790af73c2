// Fields that makers' files have and transformers does not ask for: what is known of them is checked, what could be
// another network is refused. The files are those of tests/data/families/published.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include "family_references.h"
#include "model/load.h"
#include "model/read.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using nlohmann::json;

json file(const std::string& name) {
  return load_described((family_references::folder() / "published" / (name + ".json")).string()).config;
}

Model read(const json& config) { return read_config(config, "config.json"); }

// A file with this field changed; `nest` holds it, where it is not empty.
struct Change {
  const char *name, *nest, *field;
  json value;
  const char* said;  // a part of the sentence
};

json& nested(json& config, const std::string& nest) {
  return config[json::json_pointer(nest.empty() ? "" : "/" + nest)];
}

TEST(PublishedFields, AnotherNetworkIsASentence) {
  const Change all[] = {
      {"step3p5", "", "partial_rotary_factors", "x",
       "partial_rotary_factors is \"x\"; expected an array of 45 entries"},
      {"step3p5", "", "partial_rotary_factors", -1, "partial_rotary_factors is -1; expected an array of 45 entries"},
      {"step3p5", "", "partial_rotary_factors", json::object(),
       "partial_rotary_factors is an object; expected an array"},
      {"step3p5", "", "partial_rotary_factors", json(45, -0.5), "an array of numbers above zero and of at most 1"},
      {"step3p5", "", "rope_theta", json(45, "x"), "rope_theta is an array of 45; expected an array of numbers above"},
      {"step3p5", "", "rope_scaling", "x", "rope_scaling is \"x\"; expected an object"},
      {"step3p5", "", "swiglu_limits", "x", "swiglu_limits is \"x\"; expected an array of 45 entries"},
      {"phi3", "", "original_max_position_embeddings", -1, "is -1; expected a number above zero"},
      {"gpt_oss", "", "experts_per_token", json::array({1}), "they are two names"},
      {"gpt_neo", "", "attention_layers", "x", "attention_layers is \"x\", a string; expected an array"},
      {"gpt_neo", "", "attention_layers", json(24, "local"), "expected what attention_types says, layer by layer"},
      {"zamba2", "", "ffn_hidden_size", json::array({1}), "but ffn_hidden_size is an array of 1; they are two names"},
      {"zamba", "", "attention_hidden_size", 1234, "expected 7424, twice hidden_size"},
      {"zamba2", "", "attention_hidden_size", 1234, "expected 4096, twice hidden_size"},
      {"zamba2", "", "mamba_headdim", 32, "expected 64, the inner width over n_mamba_heads"},
      {"zamba2", "", "kv_channels", 3, "expected 64, hidden_size over num_attention_heads"},
      {"zamba2", "", "num_query_groups", 4, "expected 32, as num_attention_heads"},
      {"zamba2", "", "hybrid_layer_ids", json::array({5}),
       "hybrid_layer_ids is an array of 1; expected the 6 layers that are hybrid"},
      {"zamba2", "", "hybrid_layer_ids", json::array({11, 5, 17, 23, 29, 35}), "that are hybrid, in order"},
      {"zamba2", "", "layer_types", json(38, "hybrid"), "expected what layers_block_type says"},
      {"ernie4_5_moe", "", "moe_layer_end_index", 2.5, "expected a whole number, or -1 for the last layer"},
      {"ernie4_5_moe", "", "moe_layer_end_index", -2, "expected a whole number, or -1 for the last layer"},
      {"hy_v3", "", "expert_hidden_dim", json::array({1}),
       "but expert_hidden_dim is an array of 1; they are two names"},
      {"deepseek_v4", "", "compress_rope_theta", "160000", "compress_rope_theta is \"160000\", a string; expected"},
      {"deepseek_v4", "", "compress_rope_theta", -1, "compress_rope_theta is -1; expected a number above zero"},
      {"qwen3_next", "", "mlp_only_layers", json::array({-5, -5}), "an array of 2; expected an array of layer numbers"},
      {"mamba", "", "rms_norm", false, "its norms are RMS norms"},
      {"glm4v_moe_4_6", "text_config", "qk_layernorm", true, "has no such norms"},
      {"laguna", "rope_parameters", "original_max_position_embeddings", 8192, "expected 4096"},
      {"zaya", "rope_parameters", "rope_type", "yarn", "expected default"},
      {"zaya_first", "", "num_hidden_layers", 79, "an even number"},
      {"zaya_first", "", "zaya_use_mod", false, "expected true"},
      {"zaya_first", "", "zaya_layers", json::array({"a", 16}),
       "zaya_layers is an array of 2, which is not understood"},
      {"llama4", "", "is_encoder_decoder", true, "expected false: only decoders are supported"},
      {"inkling", "text_config", "use_sconv", false, "expected true"},
      {"inkling", "text_config", "q_bias", true, "has no such biases"},
      {"inkling", "text_config", "gate_activation", "softmax", "expected sigmoid"},
      {"hy_v3", "", "expert_hidden_dim", 1024, "two names of the same size"},
      {"hy_v3", "", "route_norm", false, "expected true"},
      {"minimax", "", "postnorm", false, "norms take the stream's place"},
      {"minimax_m1", "", "postnorm", false, "norms take the stream's place"},
      {"minimax_m1", "", "postnorm", nullptr, "norms take the stream's place"},
      {"minimax_m1", "", "attn_type_list", nullptr, "an array of 0 and 1, one per layer"},
      {"minimax_m1", "", "layernorm_mlp_alpha", "x", "layernorm_mlp_alpha is \"x\", a string; expected a number"},
      {"minimax_m1", "", "mlp_alpha_factor", 2.0, "which is not understood for minimax_m1"},
      {"qwen3", "", "use_qk_norm", false, "this family has such norms"},
      {"llama4_scout", "text_config", "attn_temperature_tuning", -4, "a whole number of at least 0"},
      {"nemotron_h_56b", "", "mamba_d_state", 128, "they are two names of the same size"},
      {"exaone4_5", "text_config", "layer_types", json(66, "full_attention"), "64 entries, one per layer"},
      {"aria_base", "text_config", "moe_intermediate_size", "x", "a string; expected a whole number"},
      {"deepseek_v4", "", "dspark_markov_rank", 256, "which is not understood for deepseek_v4"},
      {"minimax", "", "rotary_dim", 130, "at most the 128 elements"},
      {"minimax", "", "shared_intermediate_size", 1024, "has no shared experts"},
      {"minimax_m3", "text_config", "n_shared_experts", 2, "expected 1"},
      {"minimax_m3", "text_config", "scoring_func", "softmax", "expected sigmoid"},
      {"aria", "text_config", "num_experts_per_tok", 4, "two names of the same size"},
      {"gemma4_unified", "text_config", "hidden_size_per_layer_input", 256, "has no inputs of layers"},
      {"recurrent_gemma", "", "embeddings_scale_by_sqrt_dim", false, "expected true"},
      {"step3p5", "", "moe_router_activation", "softmax", "expected sigmoid"},
      {"step3p5", "", "use_head_wise_attn_gate", false, "expected true"},
      {"doge_160m", "", "dynamic_mask_ratio", 0.5, "keep_window_size"},
      {"doge_moe", "", "num_cdmoe_experts", 16384, "which is not understood"},
      {"nemotron", "", "kv_channels", 64, "the elements of a head, 128"},
      {"powermoe", "", "activation_function", "gelu", "silu, as hidden_act"},
      {"diffllama_1b", "", "patch_size", 2, "a position is a token"},
      {"hyperclovax_omni", "text_config", "logits_scaling", 8.0, "no such factor"},
      {"ministral_8b", "", "sliding_window", nullptr, "because layer_types names sliding layers"},
      {"mamba2_state_spaces", "", "d_intermediate", 1024, "no feed-forwards between"},
      {"mamba2_state_spaces", "ssm_cfg", "layer", "Mamba3", "Mamba1 or Mamba2"},
      {"mamba2_state_spaces", "ssm_cfg", "chirality", 1, "not understood"},
      {"minimax_m2", "", "attn_type_list", json(62, 0), "1 for every one of the 62 layers"},
      {"minimax_m2", "", "attn_type_list", json(61, 1), "1 for every one of the 62 layers"},
      {"exaone_moe", "", "is_moe_layer", json(48, true), "for each of the 48 layers whether it has experts"},
      {"hunyuan_v1_moe", "", "moe_topk", json(33, 8), "32 entries, one per layer"},
      {"dbrx", "ffn_config", "hidden_size", 4096, "expected 6144, as d_model"},
      {"dbrx", "ffn_config", "uniform_expert_assignment", true, "expected false: the router chooses experts"},
      {"afmoe", "", "num_expert_groups", 4, "expected 1: experts are chosen from all of them"},
      {"afmoe", "", "num_limited_groups", 2, "expected 1: experts are chosen from all of them"},
      {"hunyuan_v1_moe", "", "group_limited_greedy", true, "expected false: experts are chosen from all groups"},
      {"dbrx", "attn_config", "hidden_size", 4096, "not understood for dbrx"},
      {"qwen2", "", "qkv_bias", false, "has such biases"},
      {"glm4v", "text_config", "attention_bias", false, "have biases in this family"},
      {"qwen3_vl_moe", "text_config", "norm_topk_prob", false, "weights that sum to one"},
      {"cohere2", "", "use_gated_activation", false, "feed-forward is gated"},
      {"cohere2", "", "use_parallel_block", false, "side by side"},
      {"cohere2", "", "layer_switch", 2, "two names of the same size"},
      {"cohere2", "", "rotary_pct", 0.5, "whole heads are rotated"},
      {"mpt", "", "expansion_ratio", 3, "four times as wide"},
      {"mpt", "", "norm_type", "rmsnorm", "layernorm or low_precision_layernorm"},
      {"mpt", "", "ffn_config", {{"ffn_type", "mptglu"}}, "expected mptmlp"},
      {"mpt", "ffn_config", "ffn_act_fn", {{"name", "relu"}}, "not understood for mpt"},
      {"mpt", "attn_config", "rope", true, "not understood for mpt"},
      {"mpt", "attn_config", "kv_n_heads", 8, "not understood for mpt"},
      {"mpt", "attn_config", "qk_gn", true, "not understood for mpt"},
      {"mpt", "attn_config", "sliding_window_size", 128, "not understood for mpt"},
      {"lfm2", "text_config", "block_use_swiglu", false, "feed-forward is gated"},
      {"lfm2", "text_config", "use_pos_enc", false, "positions are rotary"},
      {"lfm2", "text_config", "num_heads", 16, "32, as num_attention_heads"},
      {"lfm2", "text_config", "block_dim", 1024, "2048, as hidden_size"},
      {"lfm2", "text_config", "conv_dim", 1024, "2048, as hidden_size"},
      {"lfm2", "text_config", "conv_dim_out", 1024, "2048, as hidden_size"},
      {"nemotron_h", "", "sliding_window", 128, "windows are not supported"},
      {"hunyuan_v1_dense", "", "norm_type", "layernorm", "expected rms"},
      {"hunyuan_v1_dense", "", "add_classification_head", true, "heads that classify"},
      {"laguna", "", "moe_apply_router_weight_on_input", true, "weights multiply what experts make"},
      {"kimi_linear", "", "use_grouped_topk", false, "the best groups"},
      {"kimi_linear", "linear_attn_config", "window", 8, "not understood for kimi_linear"},
      {"codegen", "", "scale_attn_weights", false, "root of a head's width"},
      {"codegen", "", "rotary", false, "positions are rotary"},
      {"gptj", "", "scale_attn_weights", false, "root of a head's width"},
      {"gptj", "", "rotary", false, "positions are rotary"},
      {"gpt_bigcode", "", "scale_attn_by_inverse_layer_idx", true, "not divided by the layer's number"},
      {"granitemoehybrid", "", "normalization_function", "layernorm", "expected rmsnorm"},
      {"step3p5", "attention_other_setting", "num_attention_groups", 16, "is 16; expected 8, as in all layers"},
      {"step3p5", "attention_other_setting", "num_attention_groups", "x", "a string; expected a whole number"},
      {"step3p5", "attention_other_setting", "num_attention_groups", -1, "is -1; expected a whole number"},
      {"step3p5", "attention_other_setting", "head_dim", 64, "expected 128, as in all layers"},
      {"step3p5", "attention_other_setting", "attention_type", "full_attention", "expected sliding_attention"},
      {"step3p5", "attention_other_setting", "sinks", 1, "not understood for step3p5"},
      {"step3p5", "", "num_sliding_attention_heads", 64, "expected 64, as num_sliding_attention_heads"},
      {"step3p5", "", "per_layer_config", {{"1", {{"num_attention_heads", 64}}}}, "is 64; expected 96"},
      {"step3p5", "", "per_layer_config", {{"1", {{"head_dim", 64}}}}, "not understood for step3p5"},
      {"step3p5", "", "per_layer_config", {{"45", {{"num_attention_heads", 96}}}}, "is no layer"},
      {"step3p5", "", "yarn_only_types", json::array({"sliding_attention"}), "expected full_attention alone"},
      {"step3p5", "", "mlp_layer_types", json(45, "sparse"), "the layers that mlp_layer_types calls sparse"},
      {"qwen3_5", "text_config", "attn_output_gate", false, "this family's attention is gated"},
      {"qwen3_5_moe", "text_config", "attn_output_gate", "x", "a string; expected true or false"},
      {"qwen3_next", "", "output_gate_type", "sigmoid", "expected swish"},
      {"qwen3_5", "text_config", "mtp_use_dedicated_embeddings", true, "read the model's embedding"},
      {"qwen3_5_moe", "text_config", "mlp_only_layers", json::array({0, 1}), "every layer has experts"},
      {"qwen3_5_moe", "text_config", "mlp_only_layers", "x", "every layer has experts"},
      {"kimi_linear", "linear_attn_config", "kda_layers", nullptr, "an array of layer numbers, 1 to 27"},
      {"kimi_linear", "linear_attn_config", "kda_layers", json::array(), "that kda_layers does not name"},
      {"kimi_linear", "linear_attn_config", "full_attn_layers", nullptr, "an array of layer numbers, 1 to 27"},
      {"kimi_linear", "linear_attn_config", "full_attn_layers", "x", "a string; expected an array"},
      {"kimi_linear", "linear_attn_config", "full_attn_layers", json::object(), "expected an array"},
      {"kimi_linear", "linear_attn_config", "full_attn_layers", json::array({99}), "layer numbers, 1 to 27"},
      {"kimi_linear", "linear_attn_config", "full_attn_layers", json::array({1, 8, 12, 16, 20, 24, 27}),
       "that kda_layers does not name"},
      {"hunyuan_v1_moe", "", "moe_layer_num_skipped", 1, "every layer has experts"},
      {"hunyuan_v1_moe", "", "moe_layer_num_skipped", "x", "a string; expected a whole number"},
      {"hunyuan_v1_moe", "", "position_embedding_xdrope", true, "positions have one axis"},
      {"minimax_m3", "text_config", "sparse_attention_config", json::object(), "sparse_attention_freq is missing"},
      {"minimax_m3", "text_config/sparse_attention_config", "sparse_attention_freq", nullptr,
       "one for each of the 60 layers"},
      {"minimax_m3", "text_config/sparse_attention_config", "window", 8, "not understood for minimax_m3_vl_text"},
      {"minimax_m3", "text_config/sparse_attention_config", "sparse_disable_index_value", json(60, 0),
       "1 for every layer that sparse_attention_freq names"},
      {"minimax_m3", "text_config", "rotary_dim", 128, "expected 64, as partial_rotary_factor says"},
      {"minimax_m3", "text_config", "attention_output_gate", true, "has no gate"},
      {"minimax_m3", "text_config", "layer_types", json(60, "full_attention"), "what sparse_attention_freq says"},
      {"minimax_m3", "text_config", "mlp_layer_types", json(60, "sparse"), "what moe_layer_freq says"},
      {"minimax_m2", "", "partial_rotary_factor", 1.0, "rotary_dim is 64; expected 128, as partial_rotary_factor says"},
      {"bamba", "", "attn_rotary_emb", 32, "expected 64, the elements of a head that are rotated"},
      {"bamba", "", "layer_types", json(32, "mamba"), "what the other list of the layers says"},
      {"bamba", "", "layers_block_type", json(32, "mamba"), "that attend, as layers_block_type has them"},
      {"jamba", "", "layer_types", json(32, "mamba"), "what the other list of the layers says"},
      {"jamba", "", "layers_num_experts", json(32, 16), "1, or 16 where expert_layer_period says it"},
      {"falcon_h1", "", "attn_layer_indices", json::array({3}), "every layer attends"},
      {"falcon_h1", "", "mamba_use_mlp", false, "every layer has a feed-forward"},
      {"falcon_h1", "", "mlp_expansion_factor", "x", "a string; expected a number"},
      {"falcon_h1", "", "layers_block_type", json(44, "mamba"), "hybrid for every layer"},
      {"nemotron_h", "", "attention_bias", "x", "a string; expected true or false"},
      {"nemotron_h", "", "mamba_proj_bias", "x", "a string; expected true or false"},
      {"nemotron_3_super", "", "num_hidden_layers", 3, "is 3; expected 88, one per entry"},
      {"nemotron_h_56b", "", "layers_block_type", json(118, "mamba"), "what layers_block_type says"},
      {"recurrent_gemma", "", "_block_types", "x", "a string; expected an array"},
      {"recurrent_gemma", "", "block_types", json::array({"recurrent"}),
       "_block_types is an array of 3; expected what"},
      {"glm_moe_dsa", "", "index_topk_pattern", std::string(78, 'F'), "expected what indexer_types says"},
      {"glm_moe_dsa", "", "index_topk_freq", 2, "expected what indexer_types says"},
      {"glm_moe_dsa", "", "first_k_dense_replace", 1, "how many dense layers come first"},
      {"lfm2_moe", "", "full_attn_idxs", json::array({0}), "the layers that attend, as layer_types has them"},
      {"granitemoehybrid", "", "layers_block_type", json(40, "mamba"), "what the other list of the layers says"},
      {"deepseek_v4", "", "compress_ratios", json(62, 4), "43 entries, one per layer"},
      {"deepseek_v4", "", "layer_types", json(43, "sliding_attention"),
       "compress_ratios is an array of 44; expected what layer_types says"},
      {"zaya", "", "sliding_window", 128, "names no sliding layers"},
      {"qwen2", "", "use_mrope", true, "positions have one axis"},
      // What is on in some families is not off by saying so.
      {"llama", "", "attention_output_gate", false, "not understood for llama"},
      {"llama", "", "use_swiglu", false, "not understood for llama"},
      {"llama", "", "use_rope", false, "not understood for llama"},
      {"llama", "", "rotary", false, "not understood for llama"},
      {"llama", "", "is_causal", false, "not understood for llama"},
      {"llama", "", "use_residual", false, "not understood for llama"},
      // The names say what they are of numbers alone.
      {"llama", "", "foo_token_id", {{"a", 1}}, "not understood for llama"},
      {"llama", "", "foo_token_ids", json::array({1, "x"}), "not understood for llama"},
      {"llama", "", "attention_dropout", "x", "not understood for llama"},
  };
  for (const Change& change : all) {
    SCOPED_TRACE(std::string(change.name) + ": " + change.field);
    json config = file(change.name);
    nested(config, change.nest)[change.field] = change.value;
    try {
      read(config);
      ADD_FAILURE() << "it is read";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(change.said), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(change.field), std::string::npos) << error.what();
    }
  }
}

TEST(PublishedFields, SizesThatTransformersDoesNotAskForChangeNothing) {
  json config = file("mamba_370m");
  const Model model = read(config);
  EXPECT_EQ(find<Recurrence>(model)->n_heads, 2048);  // intermediate_size, where d_inner says 160
  for (const char* field : {"d_inner", "d_model", "n_layer", "dt_rank", "pad_vocab_size_multiple"}) config.erase(field);
  EXPECT_EQ(read(config), model);
}

// A model in the words of its maker's own code is the model in transformers'.
TEST(PublishedFields, OlderWordsAreTheSameNetwork) {
  const auto same = [](const char* older, const char* newer) {
    Model a = read(file(older)), b = read(file(newer));
    a.notes = b.notes;
    EXPECT_EQ(a, b) << older;
  };
  same("zaya_first", "zaya");
  same("jetmoe_first", "jetmoe");
  json axk1 = file("axk1");
  const Model newer = read(axk1);
  axk1["model_type"] = "AXK1";
  EXPECT_EQ(read(axk1), newer);
  EXPECT_EQ(newer.family, "axk1");
  // MiniMax has a 1 for each layer that attends to all.
  json minimax = file("minimax");
  const Model by_words = read(minimax);
  json numbers = json::array();
  for (const json& type : minimax["layer_types"]) numbers.push_back(type == "full_attention" ? 1 : 0);
  minimax.erase("layer_types");
  minimax["attn_type_list"] = numbers;
  EXPECT_EQ(read(minimax), by_words);
  minimax["layer_types"] = json::array();
  for (std::size_t i = 0; i < numbers.size(); ++i) minimax["layer_types"].push_back("full_attention");
  EXPECT_THROW(read(minimax), Error);
}

TEST(PublishedFields, WhatTheySayIsTheNetwork) {
  for_each<Attention>(read(file("minimax")).layers, [](const Attention& a) { EXPECT_EQ(a.rope->dims, 64); });
  for (const char* name : {"glm4v", "glm4v_4_6_flash"})
    for_each<Attention>(read(file(name)).layers, [](const Attention& a) {
      EXPECT_TRUE(a.query_bias && a.key_bias && a.value_bias);
      EXPECT_FALSE(a.output_bias);
      EXPECT_EQ(a.rope->dims, 64);
    });
  const Model inkling = read(file("inkling"));
  EXPECT_EQ(find<FeedForward>(inkling.layers[1])->d_ff, 24576);
  EXPECT_EQ(find<Mixture>(inkling.layers[2])->expert.d_ff, 3072);
  const json ministral = file("ministral_8b");
  const Model windows = read(ministral);
  for (std::size_t i = 0; i < windows.layers.size(); ++i)
    EXPECT_EQ(find<Attention>(windows.layers[i])->window,
              ministral["layer_types"][i] == "sliding_attention" ? 32768 : 0)
        << i;
  json cohere2 = file("cohere2");
  EXPECT_TRUE(read(cohere2).head.tied);
  cohere2["use_embedding_sharing"] = false;
  EXPECT_FALSE(read(cohere2).head.tied);
  cohere2["tie_word_embeddings"] = true;
  EXPECT_THROW(read(cohere2), Error);
  const Model laguna = read(file("laguna"));
  EXPECT_EQ(find<Attention>(laguna.layers[0])->rope->original_context, 4096);
  const Model m3 = read(file("minimax_m3"));  // whose type is its wrapper's
  EXPECT_EQ(m3.family, "minimax_m3_vl_text");
  EXPECT_EQ(m3.layers.size(), 60u);
}

// The number of the first Llama 4 files is a flag; 0 is off.
TEST(PublishedFields, LlamaFoursTuningMayBeANumber) {
  json config = file("llama4_scout");
  const Model tuned = read(config);
  config["text_config"]["attn_temperature_tuning"] = 4;
  EXPECT_EQ(read(config), tuned);
  config["text_config"]["attn_temperature_tuning"] = 0;
  EXPECT_NE(read(config), tuned);
  for_each<Attention>(read(config).layers, [](const Attention& a) { EXPECT_FALSE(a.position_scale); });
}

TEST(PublishedFields, LlamaFoursNormsAreOffWhereAFileSaysNull) {
  json config = file("llama4_scout");
  const Model with = read(config);
  EXPECT_NE(find<Attention>(with.layers[0])->query_key_norm, std::nullopt);
  config["text_config"]["use_qk_norm"] = nullptr;
  for_each<Attention>(read(config).layers, [](const Attention& a) { EXPECT_FALSE(a.query_key_norm); });
  config["text_config"].erase("use_qk_norm");
  EXPECT_EQ(read(config), with);
}

// PaliGemma's.
TEST(PublishedFields, AWrapperSaysHowManyTokensAPictureIs) {
  json gemma = file("gemma");
  const Model model = read(gemma);
  gemma["num_image_tokens"] = 256;
  EXPECT_THROW(read(gemma), Error);
  const Model wrapped = read({{"model_type", "paligemma"}, {"text_config", gemma}, {"vision_config", {{"depth", 1}}}});
  EXPECT_EQ(count_parameters(wrapped), count_parameters(model));
}

TEST(PublishedFields, InertFieldsChangeNothing) {
  const auto same = [](const char* name, const char* nest, const char* field, const json& value) {
    json config = file(name);
    const Model model = read(config);
    nested(config, nest)[field] = value;
    EXPECT_EQ(read(config), model) << name << ": " << field;
  };
  same("bamba", "", "mamba_dt_rank", 256);
  same("granitemoehybrid", "", "mamba_dt_rank", 256);
  same("falcon_h1", "", "mamba_dt_rank", 256);
  same("llama", "", "neftune_noise_alpha", 5.0);
  same("qwen3", "", "use_qk_norm", true);
  same("nemotron_h_56b", "", "mamba_d_state", 256);
  same("nemotron_h", "", "attention_bias", true);
  same("nemotron_h", "", "mamba_proj_bias", true);
  same("falcon_h1", "", "mlp_expansion_factor", 4);
  same("qwen3_5", "text_config", "output_gate_type", "swish");
  same("step3p5", "attention_other_setting", "true_head_dim", 128);
  same("step3p5", "", "per_layer_config", {{"01", {{"num_attention_heads", 96}}}});
  same("llama", "", "foo_token_id", nullptr);
  same("llama", "", "foo_token_ids", json::array({1, 2}));
  same("llama", "", "foo_dropout", 0.1);
}

TEST(PublishedFields, ATypeOfStatesThatIsNotCountedIsNamed) {
  for (const auto& [name, nest, field] : {std::tuple("qwen3_5", "text_config", "mamba_ssm_dtype"),
                                          std::tuple("nemotron_h", "", "mamba_ssm_cache_dtype")}) {
    json config = file(name);
    Model plain = read(config);
    nested(config, nest)[field] = "bfloat16";
    const Model model = read(config);
    ASSERT_EQ(model.notes.size(), plain.notes.size() + 1) << name;
    const std::string said = std::string(field) + " is \"bfloat16\"; states of recurrences are counted in float32";
    EXPECT_NE(std::find(model.notes.begin(), model.notes.end(), said), model.notes.end()) << name;
    plain.notes = model.notes;
    EXPECT_EQ(model, plain) << name;
  }
}

// EXAONE 4.5's quantised file has the predictor's type of attention behind those of the 64 layers.
TEST(PublishedFields, LayersThatPredictMayHaveTheirTypesBehindTheStack) {
  json config = file("exaone4_5");
  const Model model = read(config);
  ASSERT_EQ(config["text_config"]["num_nextn_predict_layers"], 1);
  json types = json::array();
  for_each<Attention>(model.layers, [&](const Attention& a) {
    types.push_back(a.window > 0 ? "sliding_attention" : "full_attention");
  });
  types.push_back("sliding_attention");
  config["text_config"]["layer_types"] = types;
  EXPECT_EQ(read(config), model);
  config["text_config"]["layer_types"][64] = "lightning";
  EXPECT_THROW(read(config), Error);
}

// DSpark's drafter takes the place of the layers that predict further tokens.
TEST(PublishedFields, ADrafterInTheFileIsNamedAndNotCounted) {
  json config = file("deepseek_v4");
  const Model plain = read(config);
  config["dspark_block_size"] = 5;
  config["dspark_markov_rank"] = 256;
  config["dspark_noise_token_id"] = 128799;
  config["dspark_target_layer_ids"] = {40, 41, 42};
  const Model model = read(config);
  EXPECT_TRUE(model.predictors.empty());
  EXPECT_EQ(count_parameters(model), count_parameters(plain));
  // Whose layers have entries behind those of the stack.
  json longer = config;
  for (int i = 0; i < 2; ++i) longer["compress_ratios"].push_back(0);
  EXPECT_EQ(read(longer), model);
  EXPECT_EQ(model.notes.back(),
            "a drafter of 3 layers (dspark_*), which drafts 5 tokens at once, is left out and not counted");
}

// MiniMax-M1 is MiniMax-Text-01's network, its factors by other names.
TEST(PublishedFields, MiniMaxInItsMakersWordsIsTheSameNetwork) {
  json config = file("minimax_m1");
  const Model model = read(config), hub = read(file("minimax"));
  EXPECT_EQ(model, hub);
  config["model_type"] = "minimax_text_01";
  EXPECT_EQ(read(config), hub);
  for (const char* of : {"full_attention", "linear_attention", "mlp"})
    for (const char* factor : {"alpha", "beta"}) {
      json other = config;
      other[fmt::format("layernorm_{}_{}", of, factor)] = 2.0;
      EXPECT_NE(read(other), hub) << of << factor;
    }
}

TEST(PublishedFields, AriasFirstFilesAreItsNetwork) {
  Model first = read(file("aria_base"));
  const Model later = read(file("aria"));
  first.notes = later.notes;
  EXPECT_EQ(first, later);
}

TEST(PublishedFields, ZayasFirstFilesAreBlamedByTheirOwnNames) {
  json config = file("zaya_first");
  for (const char* field : {"norm_epsilon", "moe_router_topk", "num_query_groups", "zaya_mlp_expansion"}) {
    json broken = config;
    broken[field] = "x";
    try {
      read(broken);
      ADD_FAILURE() << field << ": it is read";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(field) + " is \"x\""), std::string::npos) << error.what();
    }
  }
}

// Mamba-2 of 130 million: 50,277 words, padded to 16, of width 768; in a layer 768 x (2·1536 + 2·128 + 24), a
// convolution of 4 over 1536 + 2·128 channels, three numbers a head, two norms and 1536 x 768.
TEST(PublishedFields, ThePackagesOwnFilesAreMambasNetwork) {
  const Model model = read(file("mamba2_state_spaces"));
  EXPECT_EQ(model.family, "mamba2");
  EXPECT_EQ(model.vocab_size, 50288);
  constexpr std::int64_t layer = 768 * 3352 + 5 * 1792 + 3 * 24 + 1536 + 1536 * 768 + 768;
  EXPECT_EQ(count_parameters(model), 50288 * 768 + 24 * layer + 768);
  json first = file("mamba2_state_spaces");
  first["ssm_cfg"] = json::object();
  EXPECT_EQ(read(first).family, "mamba");
  EXPECT_EQ(find<Recurrence>(read(first))->d_state, 16);
}

}  // namespace
}  // namespace reckon
