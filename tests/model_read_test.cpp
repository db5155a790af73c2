// What each family's reader must know beyond the sizes. The expected values are those of the family's definition in
// Hugging Face transformers, or of the paper named at the test.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/read.h"
#include "model/sublayers.h"
#include "model/types.h"
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

TEST(ReadConfig, KnowsAsManyModelTypesAsTheReadmeSays) {
  std::ifstream file(project_folder() + "/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(readme.find(", " + std::to_string(model_types().size()) + " model types in all,"), std::string::npos)
      << model_types().size();
  EXPECT_NE(readme.find(" model types in all, and the language models of " + std::to_string(wrappers().size()) +
                        " wrappers are read"),
            std::string::npos)
      << wrappers().size();
}

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
  EXPECT_EQ(find<Attention>(layer)->n_heads, 4);
  EXPECT_EQ(find<Attention>(layer)->n_kv_heads, 2);
  EXPECT_EQ(find<Attention>(layer)->d_head, 16);
  EXPECT_EQ(find<Attention>(layer)->d_value, 16);
  EXPECT_DOUBLE_EQ(find<Attention>(layer)->scale, 0.25);
  EXPECT_EQ(find<Attention>(layer)->rope->dims, 16);
  EXPECT_EQ(feed_forward_of(layer)->d_ff, 128);
  EXPECT_TRUE(feed_forward_of(layer)->gated);
  EXPECT_EQ(feed_forward_of(layer)->activation, Activation::silu);
  ASSERT_TRUE(layer.sublayers.front().norms.before && layer.sublayers.back().norms.before && model.final_norm);
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::rms);
  EXPECT_DOUBLE_EQ(model.final_norm->epsilon, 1e-5);
  EXPECT_FALSE(model.head.tied);
}

TEST(ReadConfig, GivesLlamaAsManyKeyHeadsAsHeadsWhereTheConfigHasNone) {
  EXPECT_EQ(find<Attention>(read("llama", {{"num_key_value_heads", nullptr}}).layers[0])->n_kv_heads, 4);
}

TEST(ReadConfig, KeepsAHeadWidthThatIsNotAFractionOfTheModel) {
  EXPECT_EQ(find<Attention>(read("mistral", {{"head_dim", 32}}).layers[0])->d_head, 32);
  EXPECT_EQ(find<Attention>(read("qwen3").layers[0])->d_head, 128);  // transformers' default
  EXPECT_EQ(find<Attention>(read("qwen3", {{"head_dim", nullptr}}).layers[0])->d_head, 16);
}

TEST(ReadConfig, PutsLlamaBiasesOnAllFourProjections) {
  const Layer layer = read("llama", {{"attention_bias", true}, {"mlp_bias", true}}).layers[0];
  EXPECT_TRUE(find<Attention>(layer)->query_bias && find<Attention>(layer)->key_bias &&
              find<Attention>(layer)->value_bias);
  EXPECT_TRUE(find<Attention>(layer)->output_bias);
  EXPECT_TRUE(feed_forward_of(layer)->bias);
}

TEST(ReadConfig, TakesQwen2BiasesThoughTheConfigDoesNotSayThem) {
  const Attention attention = *find<Attention>(read("qwen2").layers[0]);
  EXPECT_TRUE(attention.query_bias && attention.key_bias && attention.value_bias);
  EXPECT_FALSE(attention.output_bias);
}

TEST(ReadConfig, LetsQwen2SlideOnlyWhereItIsToldTo) {
  const json inert = {{"sliding_window", 8}, {"use_sliding_window", false}, {"max_window_layers", 2}};
  for (const Layer& layer : read("qwen2", inert).layers) EXPECT_EQ(find<Attention>(layer)->window, 0);
  json used = inert;
  used["use_sliding_window"] = true;
  const Model model = read("qwen2", used);
  EXPECT_EQ(find<Attention>(model.layers[1])->window, 0);
  EXPECT_EQ(find<Attention>(model.layers[2])->window, 8);
  EXPECT_EQ(find<Attention>(model.layers[3])->window, 8);
}

TEST(ReadConfig, GivesMistralTheWindowOfItsFirstVersionUnlessItIsNull) {
  EXPECT_EQ(find<Attention>(read("mistral").layers[0])->window, 4096);
  EXPECT_EQ(find<Attention>(read("mistral", {{"sliding_window", nullptr}}).layers[0])->window, 0);
}

TEST(ReadConfig, NormsEachQueryAndKeyHeadOfQwen3) {
  const Attention attention = *find<Attention>(read("qwen3").layers[0]);
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
  const Rope rope = *find<Attention>(old.layers[0])->rope;
  EXPECT_EQ(rope.scaling, Rope::Scaling::llama3);
  EXPECT_DOUBLE_EQ(rope.theta, 5e5);
  EXPECT_DOUBLE_EQ(rope.factor, 8);
  EXPECT_DOUBLE_EQ(rope.original_context, 64);
  EXPECT_DOUBLE_EQ(rope.low_frequency_factor, 1);
  EXPECT_DOUBLE_EQ(rope.high_frequency_factor, 4);
}

TEST(ReadConfig, ReadsLinearAndDynamicRopeWithTheOldKey) {
  EXPECT_EQ(find<Attention>(read("llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}).layers[0])
                ->rope->scaling,
            Rope::Scaling::linear);
  const Rope dynamic =
      *find<Attention>(read("llama", {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}}).layers[0])->rope;
  EXPECT_EQ(dynamic.scaling, Rope::Scaling::dynamic);
  EXPECT_DOUBLE_EQ(dynamic.original_context, 2048);  // transformers' default context of llama
}

TEST(ReadConfig, ReadsYarnOfQwen) {
  const Rope rope =
      *find<Attention>(
           read("qwen2",
                {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}}})
               .layers[0])
           ->rope;
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
    const Rope rope = *find<Attention>(model.layers[0])->rope;
    EXPECT_EQ(rope.scaling, Rope::Scaling::longrope) << name;
    EXPECT_DOUBLE_EQ(rope.factor, 32);
    EXPECT_DOUBLE_EQ(rope.original_context, 4096);
    EXPECT_EQ(rope.short_factors, factors);
  }
}

TEST(ReadConfig, GivesArceeAPlainSquaredRelu) {
  const FeedForward feed_forward = *feed_forward_of(read("arcee").layers[0]);
  EXPECT_FALSE(feed_forward.gated);
  EXPECT_EQ(feed_forward.activation, Activation::relu_squared);
}

TEST(ReadConfig, ScalesGemmaEmbeddingsAndShiftsItsNormWeights) {
  const Model model = read("gemma", {{"hidden_act", "gelu"}, {"hidden_activation", nullptr}});
  EXPECT_DOUBLE_EQ(model.embedding_scale, 8.0);  // √64
  EXPECT_TRUE(model.final_norm->weight_plus_one);
  EXPECT_TRUE(model.head.tied);
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 256);
  EXPECT_TRUE(feed_forward_of(model.layers[0])->gated);
  // Gemma's first files say gelu and were trained with the tanh approximation.
  EXPECT_EQ(feed_forward_of(model.layers[0])->activation, Activation::gelu_tanh);
}

TEST(ReadConfig, AlternatesGemma2WindowsAndCapsItsScores) {
  const Model model = read("gemma2", {{"query_pre_attn_scalar", 144}, {"sliding_window", 16}});
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 16);
  EXPECT_EQ(find<Attention>(model.layers[1])->window, 0);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 1.0 / 12);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->softcap, 50);
  EXPECT_DOUBLE_EQ(model.head.softcap, 30);
  EXPECT_TRUE(model.layers[0].sublayers.front().norms.before && model.layers[0].sublayers.front().norms.after);
  EXPECT_TRUE(model.layers[0].sublayers.back().norms.before && model.layers[0].sublayers.back().norms.after);
  EXPECT_DOUBLE_EQ(find<Attention>(read("gemma2", {{"attn_logit_softcapping", nullptr}}).layers[0])->softcap, 0);
}

TEST(ReadConfig, LetsLayerTypesDecideWhichLayersSlide) {
  const Model model =
      read("gemma2", {{"sliding_window", 16},
                      {"layer_types", {"full_attention", "full_attention", "sliding_attention", "full_attention"}}});
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 0);
  EXPECT_EQ(find<Attention>(model.layers[2])->window, 16);
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
    const Attention& attention = *find<Attention>(model.layers[i]);
    EXPECT_EQ(attention.window, i == 5 ? 0 : 512) << i;
    EXPECT_DOUBLE_EQ(attention.rope->theta, i == 5 ? 1e6 : 1e4) << i;
    EXPECT_EQ(attention.rope->scaling, i == 5 ? Rope::Scaling::linear : Rope::Scaling::none) << i;
    EXPECT_TRUE(attention.query_key_norm && attention.query_key_norm->weight_plus_one);
  }
}

TEST(ReadConfig, PutsOlmo2NormsAfterTheSublayers) {
  const Layer layer = read("olmo2").layers[0];
  EXPECT_FALSE(layer.sublayers.front().norms.before);
  EXPECT_TRUE(layer.sublayers.front().norms.after && layer.sublayers.back().norms.after);
  EXPECT_EQ(find<Attention>(layer)->norm_span, Attention::NormSpan::all_heads);
}

TEST(ReadConfig, GivesStarcoder2LayerNormsBiasesAndAPlainGelu) {
  const Model model = read("starcoder2");
  const Layer& layer = model.layers[0];
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::layer);
  EXPECT_TRUE(model.final_norm->bias);
  EXPECT_TRUE(find<Attention>(layer)->query_bias && find<Attention>(layer)->output_bias &&
              feed_forward_of(layer)->bias);
  EXPECT_FALSE(feed_forward_of(layer)->gated);
  EXPECT_EQ(feed_forward_of(layer)->activation, Activation::gelu_tanh);
  EXPECT_TRUE(model.head.tied);
}

TEST(ReadConfig, HonoursEveryOptionOfStablelm) {
  const json options = {
      {"num_key_value_heads", 4}, {"use_qkv_bias", true}, {"qk_layernorm", true}, {"use_parallel_residual", true}};
  const Layer layer = read("stablelm", options).layers[0];
  EXPECT_EQ(find<Attention>(layer)->rope->dims, 4);  // a quarter of 16
  EXPECT_TRUE(find<Attention>(layer)->query_bias);
  EXPECT_FALSE(find<Attention>(layer)->output_bias);
  EXPECT_EQ(find<Attention>(layer)->norm_span, Attention::NormSpan::own_head);
  EXPECT_FALSE(find<Attention>(layer)->query_key_norm->bias);
  EXPECT_EQ(layer.sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_FALSE(layer.sublayers.back().norms.before);
}

TEST(ReadConfig, GivesCohereOneNormWithoutBiasAndScaledLogits) {
  const Model model = read("cohere", {{"logit_scale", 0.8333}, {"use_qk_norm", true}});
  const Layer& layer = model.layers[0];
  EXPECT_EQ(layer.sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_TRUE(find<Attention>(layer)->rope->interleaved);
  EXPECT_EQ(model.final_norm->kind, Norm::Kind::layer);
  EXPECT_FALSE(model.final_norm->bias);
  EXPECT_EQ(find<Attention>(layer)->norm_span, Attention::NormSpan::own_head);
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
  for (const Sublayer& sublayer : model.layers[0].sublayers) EXPECT_DOUBLE_EQ(sublayer.residual_scale, 0.22);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 0.0078125);
}

TEST(ReadConfig, GivesPhiOneNormBiasesEverywhereAndARotatedPart) {
  const Model model = read("phi", {{"num_key_value_heads", 4}, {"qk_layernorm", true}});
  const Layer& layer = model.layers[0];
  EXPECT_EQ(layer.sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_TRUE(find<Attention>(layer)->output_bias && feed_forward_of(layer)->bias);
  EXPECT_TRUE(model.head.bias);
  EXPECT_EQ(find<Attention>(layer)->rope->dims, 8);  // half of 16
  ASSERT_TRUE(find<Attention>(layer)->query_key_norm);
  EXPECT_TRUE(find<Attention>(layer)->query_key_norm->bias);
  EXPECT_EQ(find<Attention>(layer)->norm_span, Attention::NormSpan::shared_head);
}

TEST(ReadConfig, ReadsGpt2UnderItsOwnNames) {
  const Model model = read_text(R"({"model_type": "gpt2", "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64,
                                    "n_ctx": 64, "vocab_size": 257, "n_inner": null, "layer_norm_epsilon": 1e-05})");
  EXPECT_EQ(feed_forward_of(model.layers[0])->d_ff, 192);
  EXPECT_EQ(feed_forward_of(model.layers[0])->activation, Activation::gelu_tanh);
  EXPECT_EQ(model.positions.kind, Positions::Kind::learned);
  EXPECT_EQ(model.context, 64);
  EXPECT_TRUE(model.head.tied);
  EXPECT_TRUE(find<Attention>(model.layers[0])->query_bias && find<Attention>(model.layers[0])->output_bias);
  EXPECT_FALSE(find<Attention>(model.layers[0])->rope);
}

TEST(ReadConfig, ScalesGpt2ScoresAsTheConfigSays) {
  const std::string sizes = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 9, )";
  const Model by_layer = read_text(sizes + R"("scale_attn_by_inverse_layer_idx": true})");
  EXPECT_DOUBLE_EQ(find<Attention>(by_layer.layers[0])->scale, 0.25);
  EXPECT_DOUBLE_EQ(find<Attention>(by_layer.layers[2])->scale, 0.25 / 3);
  EXPECT_DOUBLE_EQ(find<Attention>(read_text(sizes + R"("scale_attn_weights": false})").layers[0])->scale, 1);
}

TEST(ReadConfig, GivesGpt2CrossAttentionWithNormAndBiases) {
  const Model model = read_text(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 4, "vocab_size": 9,
                                    "add_cross_attention": true})");
  ASSERT_TRUE(find<CrossAttention>(model.layers[0]));
  EXPECT_TRUE(find<CrossAttention>(model.layers[0])->bias && model.layers[0].sublayers[1].norms.before);
  EXPECT_EQ(find<CrossAttention>(model.layers[0])->d_head, 16);
}

TEST(ReadConfig, LeavesGptNeoScoresUnscaledAndAlternatesItsWindows) {
  const Model model = read_text(R"({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4,
                                    "vocab_size": 9, "attention_types": [[["global", "local"], 2]],
                                    "attention_layers": ["global", "local", "global", "local"]})");
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 0);
  EXPECT_EQ(find<Attention>(model.layers[1])->window, 256);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 1);
  EXPECT_FALSE(find<Attention>(model.layers[0])->query_bias);
  EXPECT_TRUE(find<Attention>(model.layers[0])->output_bias);
  EXPECT_EQ(feed_forward_of(model.layers[0])->d_ff, 256);
}

TEST(ReadConfig, RotatesGptjPairsOfAPartOfAHead) {
  const Model model = read_text(R"({"model_type": "gptj", "n_embd": 64, "n_layer": 1, "n_head": 4, "vocab_size": 9,
                                    "rotary_dim": 8, "rotary": true})");
  const Layer& layer = model.layers[0];
  EXPECT_EQ(find<Attention>(layer)->rope->dims, 8);
  EXPECT_TRUE(find<Attention>(layer)->rope->interleaved);
  EXPECT_EQ(layer.sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_FALSE(find<Attention>(layer)->query_bias || find<Attention>(layer)->output_bias);
  EXPECT_TRUE(feed_forward_of(layer)->bias && model.head.bias);
  EXPECT_FALSE(model.head.tied);
}

TEST(ReadConfig, GivesGptNeoxTwoNormsInParallel) {
  const Model model =
      read("gpt_neox", {{"num_key_value_heads", nullptr}, {"rotary_pct", 0.5}, {"rotary_emb_base", 20000}});
  const Layer& layer = model.layers[0];
  EXPECT_EQ(layer.sublayers[1].reads, Sublayer::Reads::entry);
  EXPECT_TRUE(layer.sublayers.front().norms.before && layer.sublayers.back().norms.before);
  EXPECT_FALSE(model.head.tied);
  EXPECT_EQ(find<Attention>(layer)->rope->dims, 8);
  EXPECT_DOUBLE_EQ(find<Attention>(layer)->rope->theta, 20000);
  EXPECT_EQ(feed_forward_of(layer)->activation, Activation::gelu);
}

TEST(ReadConfig, ReadsOpt350MAsPostNormWithProjections) {
  const Model model = read_text(R"({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "ffn_dim": 256,
      "num_attention_heads": 4, "vocab_size": 9, "do_layer_norm_before": false, "word_embed_proj_dim": 32})");
  EXPECT_EQ(model.d_embedding, 32);
  EXPECT_FALSE(model.final_norm);
  EXPECT_TRUE(model.layers[0].sublayers.front().norms.residual && model.layers[0].sublayers.back().norms.residual);
  EXPECT_FALSE(model.layers[0].sublayers.front().norms.before);
  EXPECT_EQ(model.positions.extra_rows, 2);
  EXPECT_EQ(feed_forward_of(model.layers[0])->activation, Activation::relu);
}

TEST(ReadConfig, GivesBloomAlibiAnEmbeddingNormAndItsTrainingContext) {
  const Model model = read_text(R"({"model_type": "bloom", "n_embed": 64, "n_layer": 2, "num_attention_heads": 4,
                                    "vocab_size": 9})");
  EXPECT_EQ(model.context, 2048);
  EXPECT_TRUE(model.embedding_norm && find<Attention>(model.layers[0])->alibi);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->alibi_scale, 1);
  EXPECT_EQ(feed_forward_of(model.layers[0])->activation, Activation::gelu_tanh);
  EXPECT_EQ(model.positions.kind, Positions::Kind::none);
}

TEST(ReadConfig, TellsTheThreeFalconsApart) {
  const std::string sizes = R"({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 9,
                                "num_attention_heads": 4, )";
  const Layer small = read_text(sizes + R"("multi_query": true, "parallel_attn": true, "num_kv_heads": 4})").layers[0];
  EXPECT_EQ(find<Attention>(small)->n_kv_heads, 1);
  EXPECT_EQ(small.sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_FALSE(find<Attention>(small)->query_bias || feed_forward_of(small)->bias);

  const Layer large = read_text(sizes + R"("new_decoder_architecture": true, "num_kv_heads": 2})").layers[0];
  EXPECT_EQ(find<Attention>(large)->n_kv_heads, 2);
  EXPECT_EQ(large.sublayers[1].reads, Sublayer::Reads::entry);
  EXPECT_TRUE(large.sublayers.back().norms.before);

  const Layer rw =
      read_text(sizes + R"("alibi": true, "bias": true, "multi_query": false, "parallel_attn": false})").layers[0];
  EXPECT_EQ(find<Attention>(rw)->n_kv_heads, 4);
  EXPECT_TRUE(find<Attention>(rw)->alibi && find<Attention>(rw)->output_bias);
  EXPECT_FALSE(find<Attention>(rw)->rope);
  EXPECT_EQ(rw.sublayers[1].reads, Sublayer::Reads::stream);
  EXPECT_DOUBLE_EQ(find<Attention>(rw)->alibi_scale, 0.25);  // slopes are added before the scores are scaled by 1/√16
}

TEST(ReadConfig, NormalisesTheChosenWeightsOfMixtral) {
  const Mixture mixture =
      *find<Mixture>(read("mixtral", {{"num_local_experts", 4}, {"num_experts_per_tok", 2}}).layers[0]);
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
  EXPECT_FALSE(find<Mixture>(model.layers[0]) || find<Mixture>(model.layers[1]) || find<Mixture>(model.layers[2]));
  ASSERT_TRUE(find<Mixture>(model.layers[3]));
  EXPECT_TRUE(find<Mixture>(model.layers[3])->normalize);
  EXPECT_EQ(feed_forward_of(model.layers[3])->d_ff, 32);
  EXPECT_EQ(feed_forward_of(model.layers[0])->d_ff, 128);
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
  const Attention& attention = *find<Attention>(model.layers[0]);
  EXPECT_EQ(attention.d_head, 12);
  EXPECT_EQ(attention.d_value, 6);
  EXPECT_EQ(attention.latent->query_rank, 24);
  EXPECT_EQ(attention.latent->kv_rank, 16);
  EXPECT_EQ(attention.rope->dims, 4);
  EXPECT_TRUE(attention.rope->interleaved);
  const double mscale = 0.1 * 0.707 * std::log(40.0) + 1;  // DeepSeek-V2's own code: yarn_get_mscale
  EXPECT_NEAR(attention.scale, mscale * mscale / std::sqrt(12.0), 1e-12);
  EXPECT_FALSE(find<Mixture>(model.layers[0]));
  const Mixture& mixture = *find<Mixture>(model.layers[1]);
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
  EXPECT_EQ(find<Mixture>(model.layers[1])->n_groups, 1);
  EXPECT_EQ(find<Attention>(model.layers[1])->latent->query_rank, 0);
}

TEST(ReadConfig, RoutesDeepseekV3BySigmoidWithACorrection) {
  const Mixture mixture = *find<Mixture>(read("deepseek_v3", latent_sizes).layers[1]);
  EXPECT_EQ(mixture.scores, Mixture::Scores::sigmoid);
  EXPECT_TRUE(mixture.correction_bias && mixture.normalize);
  EXPECT_EQ(mixture.group_top, 2);
  EXPECT_DOUBLE_EQ(mixture.scale, 2.5);
  EXPECT_EQ(mixture.shared->d_ff, 10);
}

TEST(ReadConfig, GivesGptOssSinksBiasesAndYarnByDefault) {
  const Model model = read("gpt_oss", {{"num_local_experts", 8}, {"sliding_window", 128}});
  const Layer& layer = model.layers[0];
  EXPECT_TRUE(find<Attention>(layer)->sinks && find<Attention>(layer)->query_bias &&
              find<Attention>(layer)->output_bias && feed_forward_of(layer)->bias);
  EXPECT_EQ(find<Attention>(layer)->window, 128);
  EXPECT_EQ(find<Attention>(model.layers[1])->window, 0);
  EXPECT_DOUBLE_EQ(feed_forward_of(layer)->clamp, 7);
  EXPECT_TRUE(find<Mixture>(layer)->router_bias);
  EXPECT_EQ(find<Mixture>(layer)->scores, Mixture::Scores::softmax_of_chosen);
  EXPECT_EQ(find<Mixture>(layer)->n_active, 4);
  EXPECT_EQ(find<Attention>(layer)->rope->scaling, Rope::Scaling::yarn);
  EXPECT_FALSE(find<Attention>(layer)->rope->truncate);
  EXPECT_DOUBLE_EQ(find<Attention>(layer)->rope->theta, 150000);
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
  const Attention attention = *find<Attention>(read("deepseek_v3", config).layers[0]);
  EXPECT_TRUE(attention.latent->down_bias && attention.output_bias);
  EXPECT_FALSE(attention.query_bias || attention.key_bias || attention.value_bias);
}

TEST(ReadConfig, GivesZayaConvolutionsRoutersInAChainAndAnExpertThatMakesNothing) {
  json config = {{"model_type", "zaya"},
                 {"hidden_size", 64},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"vocab_size", 100},
                 {"moe_intermediate_size", 32},
                 {"layer_types", {"hybrid", "hybrid_sliding"}},
                 {"sliding_window", 8}};
  const Model model = read_config(config, "config.json");
  const Attention &first = *find<Attention>(model.layers[0]), &second = *find<Attention>(model.layers[1]);
  EXPECT_EQ(first.convolved, (ConvolvedHeads{2, 2}));
  EXPECT_EQ(first.n_kv_heads, 2);
  EXPECT_EQ(first.d_head, 128);
  EXPECT_EQ(first.window, 0);
  EXPECT_EQ(second.window, 8);
  EXPECT_EQ(first.rope->theta, 5e6);
  EXPECT_EQ(second.rope->theta, 1e4);
  EXPECT_EQ(first.rope->dims, 64);
  const Mixture &start = *find<Mixture>(model.layers[0]), &next = *find<Mixture>(model.layers[1]);
  EXPECT_EQ(start.n_experts, 16);
  EXPECT_EQ(start.n_active, 1);
  EXPECT_EQ(start.n_null, 1);
  EXPECT_EQ(start.router_rank, 256);
  EXPECT_FALSE(start.router_chained);
  EXPECT_TRUE(next.router_chained && next.correction_bias);
  EXPECT_TRUE(model.embedding_affine && model.head.tied && model.layers[0].sublayers[0].affine);
  json several = config, nowhere = config;
  several["num_experts_per_tok"] = 2;
  nowhere.erase("sliding_window");
  EXPECT_THROW(read_config(several, "config.json"), Error);
  EXPECT_THROW(read_config(nowhere, "config.json"), Error);
}

TEST(ReadConfig, GivesDeepseekV4StreamsEntriesAndTables) {
  const json config = {{"model_type", "deepseek_v4"}, {"hidden_size", 64}, {"num_hidden_layers", 6},
                       {"num_attention_heads", 8},    {"vocab_size", 100}, {"moe_intermediate_size", 32}};
  const Model model = read_config(config, "config.json");
  EXPECT_EQ(model.hyper->streams, 4);
  EXPECT_EQ(model.hyper->iterations, 20);
  for (std::size_t i = 0; i < 6; ++i) {
    const bool sparse = i == 3 || i == 5;
    const Attention& attention = *find<Attention>(model.layers[i]);
    EXPECT_EQ(attention.shared_key->rate, sparse ? 4 : 128) << i;
    EXPECT_EQ(attention.shared_key->overlaps, sparse) << i;
    EXPECT_EQ(attention.indexer.has_value(), sparse) << i;
    EXPECT_EQ(attention.window, 128);
    EXPECT_EQ(attention.rope->theta, 160000.0);
    EXPECT_EQ(attention.rope->dims, 64);
    EXPECT_TRUE(attention.rope->trailing && attention.rope->interleaved);
    const Mixture& mixture = *find<Mixture>(model.layers[i]);
    EXPECT_EQ(mixture.hashed, i < 3) << i;
    EXPECT_EQ(mixture.correction_bias, i >= 3) << i;
    EXPECT_EQ(mixture.scores, Mixture::Scores::root_softplus);
    EXPECT_EQ(mixture.expert.limit, 10.0);
    EXPECT_EQ(mixture.scale, 1.5);
  }
  json other = config;
  other["scoring_func"] = "softmax";
  EXPECT_THROW(read_config(other, "config.json"), Error);
  other = config;
  other["compress_rates"] = {{"another_attention", 3}};
  EXPECT_THROW(read_config(other, "config.json"), Error);
}

// The golden configurations, made with transformers 5.17, are in the newer form throughout.
TEST(ReadConfig, ReadsEveryGoldenConfiguration) {
  const json golden = json::parse(std::ifstream(project_folder() + "/tests/data/parameters.json"));
  ASSERT_EQ(golden.size(), 30u);
  for (const auto& [name, entry] : golden.items()) EXPECT_NO_THROW(read_config(entry["config"], name)) << name;
}

}  // namespace
}  // namespace reckon
