// What each family's reader must know beyond the sizes. The expected values are those of the family's definition in
// Hugging Face transformers, or of the paper named at the test.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/read.h"
#include "paths.h"

namespace reckon {
namespace {

using nlohmann::json;

// A small config of the given type in LLaMA's names, changed by `extra`.
Model read(const std::string& type, const json& extra = json::object()) {
  json config = {{"model_type", type},       {"hidden_size", 64},        {"num_hidden_layers", 4},
                 {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"intermediate_size", 128},
                 {"vocab_size", 100}};
  config.update(extra);
  return read_config(config, "config.json");
}

Model read_text(const std::string& text) { return read_config(json::parse(text), "config.json"); }

TEST(ReadConfig, TakesTheSizesOfALlama) {
  const Model model = read("llama", {{"max_position_embeddings", 256}, {"rms_norm_eps", 1e-5}});
  EXPECT_EQ(model.name, "config.json");
  EXPECT_EQ(model.family, "llama");
  EXPECT_EQ(model.d_model, 64);
  EXPECT_EQ(model.d_embedding, 64);
  EXPECT_EQ(model.vocab_size, 100);
  EXPECT_EQ(model.context, 256);
  ASSERT_EQ(model.layers.size(), 4u);
  const Layer& layer = model.layers[0];
  EXPECT_EQ(layer.attention.n_heads, 4);
  EXPECT_EQ(layer.attention.n_kv_heads, 2);
  EXPECT_EQ(layer.attention.d_head, 16);
  EXPECT_EQ(layer.attention.d_value, 16);
  EXPECT_DOUBLE_EQ(layer.attention.scale, 0.25);
  EXPECT_EQ(layer.attention.rope->dims, 16);
  EXPECT_EQ(layer.feed_forward.d_ff, 128);
  EXPECT_TRUE(layer.feed_forward.gated);
  EXPECT_EQ(layer.feed_forward.activation, Activation::silu);
  ASSERT_TRUE(layer.attention_norms.before && layer.feed_forward_norms.before && model.final_norm);
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::rms);
  EXPECT_DOUBLE_EQ(model.final_norm->epsilon, 1e-5);
  EXPECT_FALSE(model.head.tied);
}

TEST(ReadConfig, GivesLlamaAsManyKeyHeadsAsHeadsWhereTheConfigHasNone) {
  EXPECT_EQ(read("llama", {{"num_key_value_heads", nullptr}}).layers[0].attention.n_kv_heads, 4);
}

TEST(ReadConfig, KeepsAHeadWidthThatIsNotAFractionOfTheModel) {
  EXPECT_EQ(read("mistral", {{"head_dim", 32}}).layers[0].attention.d_head, 32);
  EXPECT_EQ(read("qwen3").layers[0].attention.d_head, 128);  // transformers' default
  EXPECT_EQ(read("qwen3", {{"head_dim", nullptr}}).layers[0].attention.d_head, 16);
}

TEST(ReadConfig, PutsLlamaBiasesOnAllFourProjections) {
  const Layer layer = read("llama", {{"attention_bias", true}, {"mlp_bias", true}}).layers[0];
  EXPECT_TRUE(layer.attention.query_bias && layer.attention.key_bias && layer.attention.value_bias);
  EXPECT_TRUE(layer.attention.output_bias);
  EXPECT_TRUE(layer.feed_forward.bias);
}

TEST(ReadConfig, TakesQwen2BiasesThoughTheConfigDoesNotSayThem) {
  const Attention attention = read("qwen2").layers[0].attention;
  EXPECT_TRUE(attention.query_bias && attention.key_bias && attention.value_bias);
  EXPECT_FALSE(attention.output_bias);
}

TEST(ReadConfig, LetsQwen2SlideOnlyWhereItIsToldTo) {
  const json inert = {{"sliding_window", 8}, {"use_sliding_window", false}, {"max_window_layers", 2}};
  for (const Layer& layer : read("qwen2", inert).layers) EXPECT_EQ(layer.attention.window, 0);
  json used = inert;
  used["use_sliding_window"] = true;
  const Model model = read("qwen2", used);
  EXPECT_EQ(model.layers[1].attention.window, 0);
  EXPECT_EQ(model.layers[2].attention.window, 8);
  EXPECT_EQ(model.layers[3].attention.window, 8);
}

TEST(ReadConfig, GivesMistralTheWindowOfItsFirstVersionUnlessItIsNull) {
  EXPECT_EQ(read("mistral").layers[0].attention.window, 4096);
  EXPECT_EQ(read("mistral", {{"sliding_window", nullptr}}).layers[0].attention.window, 0);
}

TEST(ReadConfig, NormsEachQueryAndKeyHeadOfQwen3) {
  const Attention attention = read("qwen3").layers[0].attention;
  ASSERT_TRUE(attention.query_key_norm);
  EXPECT_EQ(attention.norm_span, Attention::NormSpan::shared_head);
  EXPECT_FALSE(attention.query_bias);
}

TEST(ReadConfig, ReadsBothFormsOfLlama3RopeAlike) {
  const json parameters = {{"factor", 8.0},
                           {"low_freq_factor", 1.0},
                           {"high_freq_factor", 4.0},
                           {"original_max_position_embeddings", 64},
                           {"rope_type", "llama3"}};
  const Model old = read("llama", {{"rope_theta", 5e5}, {"rope_scaling", parameters}});
  json with_theta = parameters;
  with_theta["rope_theta"] = 5e5;
  const Model recent = read("llama", {{"rope_parameters", with_theta}});
  EXPECT_EQ(old, recent);
  const Rope rope = *old.layers[0].attention.rope;
  EXPECT_EQ(rope.scaling, Rope::Scaling::llama3);
  EXPECT_DOUBLE_EQ(rope.theta, 5e5);
  EXPECT_DOUBLE_EQ(rope.factor, 8);
  EXPECT_DOUBLE_EQ(rope.original_context, 64);
  EXPECT_DOUBLE_EQ(rope.low_frequency_factor, 1);
  EXPECT_DOUBLE_EQ(rope.high_frequency_factor, 4);
}

TEST(ReadConfig, ReadsLinearAndDynamicRopeWithTheOldKey) {
  EXPECT_EQ(read("llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}).layers[0].attention.rope->scaling,
            Rope::Scaling::linear);
  const Rope dynamic =
      *read("llama", {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}}).layers[0].attention.rope;
  EXPECT_EQ(dynamic.scaling, Rope::Scaling::dynamic);
  EXPECT_DOUBLE_EQ(dynamic.original_context, 2048);  // transformers' default context of llama
}

TEST(ReadConfig, ReadsYarnOfQwen) {
  const Rope rope =
      *read("qwen2",
            {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}}})
           .layers[0]
           .attention.rope;
  EXPECT_EQ(rope.scaling, Rope::Scaling::yarn);
  EXPECT_DOUBLE_EQ(rope.factor, 4);
  EXPECT_DOUBLE_EQ(rope.beta_fast, 32);
  EXPECT_DOUBLE_EQ(rope.beta_slow, 1);
  EXPECT_TRUE(rope.truncate);
}

TEST(ReadConfig, ReadsLongRopeOfPhi3UnderAllItsNames) {
  const std::vector<double> factors(8, 1.5);
  for (const char* name : {"su", "longrope", "yarn"}) {
    const Model model =
        read("phi3", {{"max_position_embeddings", 131072},
                      {"original_max_position_embeddings", 4096},
                      {"rope_scaling", {{"type", name}, {"short_factor", factors}, {"long_factor", factors}}}});
    const Rope rope = *model.layers[0].attention.rope;
    EXPECT_EQ(rope.scaling, Rope::Scaling::longrope) << name;
    EXPECT_DOUBLE_EQ(rope.factor, 32);
    EXPECT_DOUBLE_EQ(rope.original_context, 4096);
    EXPECT_EQ(rope.short_factors, factors);
  }
}

TEST(ReadConfig, GivesArceeAPlainSquaredRelu) {
  const FeedForward feed_forward = read("arcee").layers[0].feed_forward;
  EXPECT_FALSE(feed_forward.gated);
  EXPECT_EQ(feed_forward.activation, Activation::relu_squared);
}

TEST(ReadConfig, ScalesGemmaEmbeddingsAndShiftsItsNormWeights) {
  const Model model = read("gemma", {{"hidden_act", "gelu"}, {"hidden_activation", nullptr}});
  EXPECT_DOUBLE_EQ(model.embedding_scale, 8.0);  // √64
  EXPECT_TRUE(model.final_norm->weight_plus_one);
  EXPECT_TRUE(model.head.tied);
  EXPECT_EQ(model.layers[0].attention.d_head, 256);
  EXPECT_TRUE(model.layers[0].feed_forward.gated);
  // Gemma's first files say gelu and were trained with the tanh approximation.
  EXPECT_EQ(model.layers[0].feed_forward.activation, Activation::gelu_tanh);
}

TEST(ReadConfig, AlternatesGemma2WindowsAndCapsItsScores) {
  const Model model = read("gemma2", {{"query_pre_attn_scalar", 144}, {"sliding_window", 16}});
  EXPECT_EQ(model.layers[0].attention.window, 16);
  EXPECT_EQ(model.layers[1].attention.window, 0);
  EXPECT_DOUBLE_EQ(model.layers[0].attention.scale, 1.0 / 12);
  EXPECT_DOUBLE_EQ(model.layers[0].attention.softcap, 50);
  EXPECT_DOUBLE_EQ(model.head.softcap, 30);
  EXPECT_TRUE(model.layers[0].attention_norms.before && model.layers[0].attention_norms.after);
  EXPECT_TRUE(model.layers[0].feed_forward_norms.before && model.layers[0].feed_forward_norms.after);
  EXPECT_DOUBLE_EQ(read("gemma2", {{"attn_logit_softcapping", nullptr}}).layers[0].attention.softcap, 0);
}

TEST(ReadConfig, LetsLayerTypesDecideWhichLayersSlide) {
  const Model model =
      read("gemma2", {{"sliding_window", 16},
                      {"layer_types", {"full_attention", "full_attention", "sliding_attention", "full_attention"}}});
  EXPECT_EQ(model.layers[0].attention.window, 0);
  EXPECT_EQ(model.layers[2].attention.window, 16);
}

TEST(ReadConfig, GivesGemma3TwoRopeBasesAndFiveSlidingLayersToOneFull) {
  const json sizes = {{"num_hidden_layers", 7}, {"sliding_window", 512}};
  json old = sizes;
  old.update({{"rope_theta", 1e6},
              {"rope_local_base_freq", 1e4},
              {"sliding_window_pattern", 6},
              {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}});
  json recent = sizes;
  recent["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                               {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
  const Model model = read("gemma3_text", old);
  EXPECT_EQ(model, read("gemma3_text", recent));
  for (std::size_t i = 0; i < 7; ++i) {
    const Attention& attention = model.layers[i].attention;
    EXPECT_EQ(attention.window, i == 5 ? 0 : 512) << i;
    EXPECT_DOUBLE_EQ(attention.rope->theta, i == 5 ? 1e6 : 1e4) << i;
    EXPECT_EQ(attention.rope->scaling, i == 5 ? Rope::Scaling::linear : Rope::Scaling::none) << i;
    EXPECT_TRUE(attention.query_key_norm && attention.query_key_norm->weight_plus_one);
  }
}

TEST(ReadConfig, PutsOlmo2NormsAfterTheSublayers) {
  const Layer layer = read("olmo2").layers[0];
  EXPECT_FALSE(layer.attention_norms.before);
  EXPECT_TRUE(layer.attention_norms.after && layer.feed_forward_norms.after);
  EXPECT_EQ(layer.attention.norm_span, Attention::NormSpan::all_heads);
}

TEST(ReadConfig, GivesStarcoder2LayerNormsBiasesAndAPlainGelu) {
  const Model model = read("starcoder2");
  const Layer& layer = model.layers[0];
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::layer);
  EXPECT_TRUE(model.final_norm->bias);
  EXPECT_TRUE(layer.attention.query_bias && layer.attention.output_bias && layer.feed_forward.bias);
  EXPECT_FALSE(layer.feed_forward.gated);
  EXPECT_EQ(layer.feed_forward.activation, Activation::gelu_tanh);
  EXPECT_TRUE(model.head.tied);
}

TEST(ReadConfig, HonoursEveryOptionOfStablelm) {
  const json options = {
      {"num_key_value_heads", 4}, {"use_qkv_bias", true}, {"qk_layernorm", true}, {"use_parallel_residual", true}};
  const Layer layer = read("stablelm", options).layers[0];
  EXPECT_EQ(layer.attention.rope->dims, 4);  // a quarter of 16
  EXPECT_TRUE(layer.attention.query_bias);
  EXPECT_FALSE(layer.attention.output_bias);
  EXPECT_EQ(layer.attention.norm_span, Attention::NormSpan::own_head);
  EXPECT_FALSE(layer.attention.query_key_norm->bias);
  EXPECT_TRUE(layer.parallel && layer.shared_norm);
  EXPECT_FALSE(layer.feed_forward_norms.before);
}

TEST(ReadConfig, GivesCohereOneNormWithoutBiasAndScaledLogits) {
  const Model model = read("cohere", {{"logit_scale", 0.8333}, {"use_qk_norm", true}});
  const Layer& layer = model.layers[0];
  EXPECT_TRUE(layer.parallel && layer.shared_norm && layer.attention.rope->interleaved);
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::layer);
  EXPECT_FALSE(model.final_norm->bias);
  EXPECT_EQ(layer.attention.norm_span, Attention::NormSpan::own_head);
  EXPECT_DOUBLE_EQ(model.head.scale, 0.8333);
  EXPECT_TRUE(model.head.tied);
}

TEST(ReadConfig, AppliesTheFourMultipliersOfGranite) {
  const Model model = read("granite", {{"embedding_multiplier", 12.0},
                                       {"logits_scaling", 16.0},
                                       {"residual_multiplier", 0.22},
                                       {"attention_multiplier", 0.0078125}});
  EXPECT_DOUBLE_EQ(model.embedding_scale, 12);
  EXPECT_DOUBLE_EQ(model.head.scale, 1.0 / 16);
  EXPECT_DOUBLE_EQ(model.layers[0].residual_scale, 0.22);
  EXPECT_DOUBLE_EQ(model.layers[0].attention.scale, 0.0078125);
}

TEST(ReadConfig, GivesPhiOneNormBiasesEverywhereAndARotatedPart) {
  const Model model = read("phi", {{"num_key_value_heads", 4}, {"qk_layernorm", true}});
  const Layer& layer = model.layers[0];
  EXPECT_TRUE(layer.parallel && layer.shared_norm && layer.attention.output_bias && layer.feed_forward.bias);
  EXPECT_TRUE(model.head.bias);
  EXPECT_EQ(layer.attention.rope->dims, 8);  // half of 16
  ASSERT_TRUE(layer.attention.query_key_norm);
  EXPECT_TRUE(layer.attention.query_key_norm->bias);
  EXPECT_EQ(layer.attention.norm_span, Attention::NormSpan::shared_head);
}

TEST(ReadConfig, ReadsGpt2UnderItsOwnNames) {
  const Model model = read_text(R"({"model_type": "gpt2", "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64,
                                    "n_ctx": 64, "vocab_size": 257, "n_inner": null, "layer_norm_epsilon": 1e-05})");
  EXPECT_EQ(model.layers[0].feed_forward.d_ff, 192);
  EXPECT_EQ(model.layers[0].feed_forward.activation, Activation::gelu_tanh);
  EXPECT_EQ(model.positions.kind, Positions::Kind::learned);
  EXPECT_EQ(model.context, 64);
  EXPECT_TRUE(model.head.tied);
  EXPECT_TRUE(model.layers[0].attention.query_bias && model.layers[0].attention.output_bias);
  EXPECT_FALSE(model.layers[0].attention.rope);
}

TEST(ReadConfig, ScalesGpt2ScoresAsTheConfigSays) {
  const std::string sizes = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 9, )";
  const Model by_layer = read_text(sizes + R"("scale_attn_by_inverse_layer_idx": true})");
  EXPECT_DOUBLE_EQ(by_layer.layers[0].attention.scale, 0.25);
  EXPECT_DOUBLE_EQ(by_layer.layers[2].attention.scale, 0.25 / 3);
  EXPECT_DOUBLE_EQ(read_text(sizes + R"("scale_attn_weights": false})").layers[0].attention.scale, 1);
}

TEST(ReadConfig, GivesGpt2CrossAttentionWithNormAndBiases) {
  const Model model = read_text(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 4, "vocab_size": 9,
                                    "add_cross_attention": true})");
  ASSERT_TRUE(model.layers[0].cross_attention);
  EXPECT_TRUE(model.layers[0].cross_attention->bias && model.layers[0].cross_attention->norm);
  EXPECT_EQ(model.layers[0].cross_attention->d_head, 16);
}

TEST(ReadConfig, LeavesGptNeoScoresUnscaledAndAlternatesItsWindows) {
  const Model model = read_text(R"({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4,
                                    "vocab_size": 9, "attention_types": [[["global", "local"], 2]],
                                    "attention_layers": ["global", "local", "global", "local"]})");
  EXPECT_EQ(model.layers[0].attention.window, 0);
  EXPECT_EQ(model.layers[1].attention.window, 256);
  EXPECT_DOUBLE_EQ(model.layers[0].attention.scale, 1);
  EXPECT_FALSE(model.layers[0].attention.query_bias);
  EXPECT_TRUE(model.layers[0].attention.output_bias);
  EXPECT_EQ(model.layers[0].feed_forward.d_ff, 256);
}

TEST(ReadConfig, RotatesGptjPairsOfAPartOfAHead) {
  const Model model = read_text(R"({"model_type": "gptj", "n_embd": 64, "n_layer": 1, "n_head": 4, "vocab_size": 9,
                                    "rotary_dim": 8, "rotary": true})");
  const Layer& layer = model.layers[0];
  EXPECT_EQ(layer.attention.rope->dims, 8);
  EXPECT_TRUE(layer.attention.rope->interleaved && layer.parallel && layer.shared_norm);
  EXPECT_FALSE(layer.attention.query_bias || layer.attention.output_bias);
  EXPECT_TRUE(layer.feed_forward.bias && model.head.bias);
  EXPECT_FALSE(model.head.tied);
}

TEST(ReadConfig, GivesGptNeoxTwoNormsInParallel) {
  const Model model =
      read("gpt_neox", {{"num_key_value_heads", nullptr}, {"rotary_pct", 0.5}, {"rotary_emb_base", 20000}});
  const Layer& layer = model.layers[0];
  EXPECT_TRUE(layer.parallel && layer.attention_norms.before && layer.feed_forward_norms.before);
  EXPECT_FALSE(layer.shared_norm || model.head.tied);
  EXPECT_EQ(layer.attention.rope->dims, 8);
  EXPECT_DOUBLE_EQ(layer.attention.rope->theta, 20000);
  EXPECT_EQ(layer.feed_forward.activation, Activation::gelu);
}

TEST(ReadConfig, ReadsOpt350MAsPostNormWithProjections) {
  const Model model = read_text(R"({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "ffn_dim": 256,
      "num_attention_heads": 4, "vocab_size": 9, "do_layer_norm_before": false, "word_embed_proj_dim": 32})");
  EXPECT_EQ(model.d_embedding, 32);
  EXPECT_FALSE(model.final_norm);
  EXPECT_TRUE(model.layers[0].attention_norms.residual && model.layers[0].feed_forward_norms.residual);
  EXPECT_FALSE(model.layers[0].attention_norms.before);
  EXPECT_EQ(model.positions.extra_rows, 2);
  EXPECT_EQ(model.layers[0].feed_forward.activation, Activation::relu);
}

TEST(ReadConfig, GivesBloomAlibiAnEmbeddingNormAndItsTrainingContext) {
  const Model model = read_text(R"({"model_type": "bloom", "n_embed": 64, "n_layer": 2, "num_attention_heads": 4,
                                    "vocab_size": 9})");
  EXPECT_EQ(model.context, 2048);
  EXPECT_TRUE(model.embedding_norm && model.layers[0].attention.alibi);
  EXPECT_DOUBLE_EQ(model.layers[0].attention.alibi_scale, 1);
  EXPECT_EQ(model.layers[0].feed_forward.activation, Activation::gelu_tanh);
  EXPECT_EQ(model.positions.kind, Positions::Kind::none);
}

TEST(ReadConfig, TellsTheThreeFalconsApart) {
  const std::string sizes = R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 9,
                                "num_attention_heads": 4, )";
  const Layer small = read_text(sizes + R"("multi_query": true, "parallel_attn": true, "num_kv_heads": 4})").layers[0];
  EXPECT_EQ(small.attention.n_kv_heads, 1);
  EXPECT_TRUE(small.parallel && small.shared_norm);
  EXPECT_FALSE(small.attention.query_bias || small.feed_forward.bias);

  const Layer large = read_text(sizes + R"("new_decoder_architecture": true, "num_kv_heads": 2})").layers[0];
  EXPECT_EQ(large.attention.n_kv_heads, 2);
  EXPECT_TRUE(large.parallel && large.feed_forward_norms.before);
  EXPECT_FALSE(large.shared_norm);

  const Layer rw =
      read_text(sizes + R"("alibi": true, "bias": true, "multi_query": false, "parallel_attn": false})").layers[0];
  EXPECT_EQ(rw.attention.n_kv_heads, 4);
  EXPECT_TRUE(rw.attention.alibi && rw.attention.output_bias);
  EXPECT_FALSE(rw.attention.rope || rw.parallel);
  EXPECT_DOUBLE_EQ(rw.attention.alibi_scale, 0.25);  // slopes are added before the scores are scaled by 1/√16
}

TEST(ReadConfig, NormalisesTheChosenWeightsOfMixtral) {
  const Mixture mixture = *read("mixtral", {{"num_local_experts", 4}, {"num_experts_per_tok", 2}}).layers[0].mixture;
  EXPECT_EQ(mixture.n_experts, 4);
  EXPECT_EQ(mixture.n_active, 2);
  EXPECT_EQ(mixture.scores, Mixture::Scores::softmax);
  EXPECT_TRUE(mixture.normalize);
  EXPECT_FALSE(mixture.router_bias || mixture.shared);
}

TEST(ReadConfig, LeavesTheDenseLayersOfQwen3MoeDense) {
  const Model model = read("qwen3_moe", {{"num_experts", 8},
                                         {"num_experts_per_tok", 2},
                                         {"moe_intermediate_size", 32},
                                         {"norm_topk_prob", true},
                                         {"mlp_only_layers", {1}},
                                         {"decoder_sparse_step", 2}});
  EXPECT_FALSE(model.layers[0].mixture || model.layers[1].mixture || model.layers[2].mixture);
  ASSERT_TRUE(model.layers[3].mixture);
  EXPECT_TRUE(model.layers[3].mixture->normalize);
  EXPECT_EQ(model.layers[3].feed_forward.d_ff, 32);
  EXPECT_EQ(model.layers[0].feed_forward.d_ff, 128);
}

const json latent_sizes = {{"num_key_value_heads", 4},
                           {"q_lora_rank", 24},
                           {"kv_lora_rank", 16},
                           {"qk_nope_head_dim", 8},
                           {"qk_rope_head_dim", 4},
                           {"v_head_dim", 6},
                           {"n_routed_experts", 8},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 10},
                           {"first_k_dense_replace", 1},
                           {"n_group", 4},
                           {"topk_group", 2}};

TEST(ReadConfig, ReadsDeepseekV2LatentsGroupsAndScale) {
  json config = latent_sizes;
  config.update({{"n_shared_experts", 2},
                 {"topk_method", "group_limited_greedy"},
                 {"routed_scaling_factor", 16.0},
                 {"rope_scaling",
                  {{"type", "yarn"},
                   {"factor", 40},
                   {"original_max_position_embeddings", 4096},
                   {"mscale", 0.707},
                   {"mscale_all_dim", 0.707}}}});
  const Model model = read("deepseek_v2", config);
  const Attention& attention = model.layers[0].attention;
  EXPECT_EQ(attention.d_head, 12);
  EXPECT_EQ(attention.d_value, 6);
  EXPECT_EQ(attention.latent->query_rank, 24);
  EXPECT_EQ(attention.latent->kv_rank, 16);
  EXPECT_EQ(attention.rope->dims, 4);
  EXPECT_TRUE(attention.rope->interleaved);
  const double mscale = 0.1 * 0.707 * std::log(40.0) + 1;  // DeepSeek-V2's own code: yarn_get_mscale
  EXPECT_NEAR(attention.scale, mscale * mscale / std::sqrt(12.0), 1e-12);
  EXPECT_FALSE(model.layers[0].mixture);
  const Mixture& mixture = *model.layers[1].mixture;
  EXPECT_EQ(mixture.shared->d_ff, 20);
  EXPECT_EQ(mixture.n_groups, 4);
  EXPECT_EQ(mixture.n_active_groups, 2);
  EXPECT_EQ(mixture.group_top, 1);
  EXPECT_EQ(mixture.scores, Mixture::Scores::softmax);
  EXPECT_FALSE(mixture.normalize || mixture.correction_bias);
  EXPECT_DOUBLE_EQ(mixture.scale, 16);
}

TEST(ReadConfig, IgnoresTheGroupsOfAGreedyDeepseekV2AndTakesANullQueryRank) {
  json config = latent_sizes;
  config.update({{"q_lora_rank", nullptr}, {"topk_method", "greedy"}});
  const Model model = read("deepseek_v2", config);
  EXPECT_EQ(model.layers[1].mixture->n_groups, 1);
  EXPECT_EQ(model.layers[1].attention.latent->query_rank, 0);
}

TEST(ReadConfig, RoutesDeepseekV3BySigmoidWithACorrection) {
  const Mixture mixture = *read("deepseek_v3", latent_sizes).layers[1].mixture;
  EXPECT_EQ(mixture.scores, Mixture::Scores::sigmoid);
  EXPECT_TRUE(mixture.correction_bias && mixture.normalize);
  EXPECT_EQ(mixture.group_top, 2);
  EXPECT_DOUBLE_EQ(mixture.scale, 2.5);
  EXPECT_EQ(mixture.shared->d_ff, 10);
}

TEST(ReadConfig, GivesGptOssSinksBiasesAndYarnByDefault) {
  const Model model = read("gpt_oss", {{"num_local_experts", 8}, {"sliding_window", 128}});
  const Layer& layer = model.layers[0];
  EXPECT_TRUE(layer.attention.sinks && layer.attention.query_bias && layer.attention.output_bias &&
              layer.feed_forward.bias);
  EXPECT_EQ(layer.attention.window, 128);
  EXPECT_EQ(model.layers[1].attention.window, 0);
  EXPECT_DOUBLE_EQ(layer.feed_forward.clamp, 7);
  EXPECT_TRUE(layer.mixture->router_bias);
  EXPECT_EQ(layer.mixture->scores, Mixture::Scores::softmax_of_chosen);
  EXPECT_EQ(layer.mixture->n_active, 4);
  EXPECT_EQ(layer.attention.rope->scaling, Rope::Scaling::yarn);
  EXPECT_FALSE(layer.attention.rope->truncate);
  EXPECT_DOUBLE_EQ(layer.attention.rope->theta, 150000);
}

TEST(ReadConfig, TakesHowWeightsAreStoredForHarmless) {
  Model quantized = read("llama", {{"quantization_config", {{"quant_method", "fp8"}}},
                                   {"torch_dtype", "bfloat16"},
                                   {"architectures", {"LlamaForCausalLM"}},
                                   {"some_new_feature", false},
                                   {"another", nullptr},
                                   {"attention_dropout", 0.1},
                                   {"eos_token_id", {1, 2}}});
  EXPECT_EQ(quantized.notes.size(), 1u);
  quantized.notes.clear();
  EXPECT_EQ(quantized, read("llama"));
}

TEST(ReadConfig, AcceptsThatAFamilyWithoutBiasesSaysSo) {
  EXPECT_EQ(read("mistral"), read("mistral", {{"attention_bias", false}, {"mlp_bias", false}}));
  EXPECT_THROW(read("mistral", {{"mlp_bias", true}}), Error);
}

TEST(ReadConfig, PutsDeepseekBiasesOnTheLatentsAndTheOutput) {
  json config = latent_sizes;
  config["attention_bias"] = true;
  const Attention attention = read("deepseek_v3", config).layers[0].attention;
  EXPECT_TRUE(attention.latent->down_bias && attention.output_bias);
  EXPECT_FALSE(attention.query_bias || attention.key_bias || attention.value_bias);
}

// The golden configurations, made with transformers 5.17, are in the newer form throughout.
TEST(ReadConfig, ReadsEveryGoldenConfiguration) {
  const json golden = json::parse(std::ifstream(project_folder() + "/tests/data/parameters.json"));
  ASSERT_EQ(golden.size(), 30u);
  for (const auto& [name, entry] : golden.items()) EXPECT_NO_THROW(read_config(entry["config"], name)) << name;
}

}  // namespace
}  // namespace reckon
