// Names and layouts of stored tensors, family by family.
#include "model/stored.h"

#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <set>
#include <sstream>
#include <string>

#include "files/tensor_file.h"
#include "model/file_report.h"
#include "paths.h"
#include "small_models.h"
#include "stored_coverage.h"
#include "text_fixture.h"

namespace {

using namespace reckon;
using namespace reckon::testing_models;

std::set<std::string> names_of(const StoredLayout& layout) {
  std::set<std::string> names;
  for (const StoredTensor& tensor : layout.tensors) names.insert(tensor.name);
  return names;
}

// Words of a list; "x.{weight,bias}" stands for x.weight and x.bias.
std::set<std::string> words(const std::string& list) {
  std::set<std::string> all;
  std::istringstream in(list);
  const std::string both = ".{weight,bias}";
  for (std::string word; in >> word;) {
    if (!word.ends_with(both)) {
      all.insert(word);
      continue;
    }
    word.resize(word.size() - both.size());
    all.insert(word + ".weight");
    all.insert(word + ".bias");
  }
  return all;
}

// The names that start with `prefix`, without it.
std::set<std::string> names_under(const std::string& prefix, const StoredLayout& layout) {
  std::set<std::string> names;
  for (const std::string& name : names_of(layout))
    if (name.starts_with(prefix)) names.insert(name.substr(prefix.size()));
  return names;
}

std::vector<std::int64_t> shape_of(const StoredLayout& layout, const std::string& tensor) {
  for (const StoredTensor& stored : layout.tensors)
    if (stored.name == tensor) return stored.shape;
  return {-1};
}

std::vector<std::int64_t> parameter_shape(const StoredLayout& layout, const std::string& parameter) {
  for (const StoredParameter& stored : layout.parameters)
    if (full_name(stored.key) == parameter) return stored.shape;
  return {-1};
}

using Shape = std::vector<std::int64_t>;

TEST(Stored, CoversEachElementOfEachFamilysTensorsOnce) {
  for (const std::string& family : families()) {
    SCOPED_TRACE(family);
    expect_each_element_covered_once(stored_layout(small_model(family)));
  }
  for (const std::string& name : family_references::found("tiny")) {
    SCOPED_TRACE(name);
    const std::string folder = (family_references::folder() / "tiny" / name).string();
    expect_each_element_covered_once(stored_layout(load_model(folder)));
  }
}

// From transformers' definition of each family: the names of layer 0.
const std::string llama_attention =
    "self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight self_attn.o_proj.weight ";
const std::string llama_feed_forward = "mlp.gate_proj.weight mlp.up_proj.weight mlp.down_proj.weight ";
const std::string llama_norms = "input_layernorm.weight post_attention_layernorm.weight ";
const std::string llama_layer = llama_attention + llama_feed_forward + llama_norms;
const std::string query_key_norms = "self_attn.q_norm.weight self_attn.k_norm.weight ";
const std::string gemma_norms = llama_norms + "pre_feedforward_layernorm.weight post_feedforward_layernorm.weight ";
const std::string latent_layer =
    "self_attn.q_a_proj.weight self_attn.q_a_layernorm.weight self_attn.q_b_proj.weight "
    "self_attn.kv_a_proj_with_mqa.weight self_attn.kv_a_layernorm.weight self_attn.kv_b_proj.weight "
    "self_attn.o_proj.weight " +
    llama_feed_forward + llama_norms;

std::string experts(const std::string& prefix, const std::string& gate, const std::string& up,
                    const std::string& down) {
  std::string list;
  for (const std::string n : {"0", "1", "2"})
    for (const std::string& name : {gate, up, down}) list += prefix + n + "." + name + ".weight ";
  return list;
}
const std::string qwen_experts = "mlp.gate.weight " + experts("mlp.experts.", "gate_proj", "up_proj", "down_proj");

struct FamilyLayer {
  const char* family;
  const char* prefix;
  std::string names;
};
const FamilyLayer first_layers[] = {
    {"llama", "model.layers.0.", llama_layer},
    {"mistral", "model.layers.0.", llama_layer},
    {"gemma", "model.layers.0.", llama_layer},
    {"granite", "model.layers.0.", llama_layer},
    {"arcee", "model.layers.0.", llama_attention + llama_norms + "mlp.up_proj.weight mlp.down_proj.weight"},
    {"qwen2", "model.layers.0.", llama_layer + "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias"},
    {"qwen3", "model.layers.0.", llama_layer + query_key_norms},
    {"step3p5", "model.layers.0.",
     llama_attention + llama_norms + query_key_norms +
         "self_attn.g_proj.weight moe.gate.weight moe.router_bias moe.gate_proj.weight moe.up_proj.weight "
         "moe.down_proj.weight share_expert.gate_proj.weight share_expert.up_proj.weight "
         "share_expert.down_proj.weight"},
    {"gemma2", "model.layers.0.", llama_attention + llama_feed_forward + gemma_norms},
    {"gemma3_text", "model.layers.0.", llama_attention + llama_feed_forward + gemma_norms + query_key_norms},
    {"olmo2", "model.layers.0.",
     llama_attention + llama_feed_forward + query_key_norms +
         "post_attention_layernorm.weight post_feedforward_layernorm.weight"},
    {"cohere", "model.layers.0.", llama_attention + llama_feed_forward + query_key_norms + "input_layernorm.weight"},
    {"stablelm", "model.layers.0.",
     llama_attention + llama_feed_forward +
         "input_layernorm.weight self_attn.q_layernorm.norms.0.weight self_attn.q_layernorm.norms.1.weight "
         "self_attn.q_layernorm.norms.2.weight self_attn.q_layernorm.norms.3.weight "
         "self_attn.k_layernorm.norms.0.weight self_attn.k_layernorm.norms.1.weight"},
    {"mixtral", "model.layers.0.",
     llama_attention + llama_norms + "block_sparse_moe.gate.weight " +
         experts("block_sparse_moe.experts.", "w1", "w2", "w3")},
    {"qwen3_moe", "model.layers.0.", llama_attention + llama_norms + qwen_experts},
    {"qwen3_vl_moe_text", "model.layers.0.",
     llama_attention + llama_norms + "mlp.gate.weight mlp.experts.gate_up_proj mlp.experts.down_proj"},
    {"deepseek_v2", "model.layers.0.", latent_layer},
    {"deepseek_v3", "model.layers.0.", latent_layer},
    {"gpt_oss", "model.layers.0.",
     llama_norms + "self_attn.q_proj.{weight,bias} self_attn.k_proj.{weight,bias} self_attn.v_proj.{weight,bias} "
                   "self_attn.o_proj.{weight,bias} self_attn.sinks mlp.router.{weight,bias} mlp.experts.gate_up_proj "
                   "mlp.experts.gate_up_proj_bias mlp.experts.down_proj mlp.experts.down_proj_bias"},
    {"phi3", "model.layers.0.",
     llama_norms + "self_attn.qkv_proj.weight self_attn.o_proj.weight mlp.gate_up_proj.weight mlp.down_proj.weight"},
    {"phi", "model.layers.0.",
     "input_layernorm.{weight,bias} self_attn.q_proj.{weight,bias} self_attn.k_proj.{weight,bias} "
     "self_attn.v_proj.{weight,bias} self_attn.dense.{weight,bias} mlp.fc1.{weight,bias} mlp.fc2.{weight,bias}"},
    {"starcoder2", "model.layers.0.",
     "input_layernorm.{weight,bias} post_attention_layernorm.{weight,bias} self_attn.q_proj.{weight,bias} "
     "self_attn.k_proj.{weight,bias} self_attn.v_proj.{weight,bias} self_attn.o_proj.{weight,bias} "
     "mlp.c_fc.{weight,bias} mlp.c_proj.{weight,bias}"},
    {"opt", "model.decoder.layers.0.",
     "self_attn_layer_norm.{weight,bias} final_layer_norm.{weight,bias} self_attn.q_proj.{weight,bias} "
     "self_attn.k_proj.{weight,bias} self_attn.v_proj.{weight,bias} self_attn.out_proj.{weight,bias} fc1.{weight,bias} "
     "fc2.{weight,bias}"},
    {"gpt2", "transformer.h.0.",
     "ln_1.{weight,bias} ln_2.{weight,bias} attn.c_attn.{weight,bias} attn.c_proj.{weight,bias} mlp.c_fc.{weight,bias} "
     "mlp.c_proj.{weight,bias}"},
    {"gpt_neo", "transformer.h.0.",
     "ln_1.{weight,bias} ln_2.{weight,bias} attn.attention.q_proj.weight attn.attention.k_proj.weight "
     "attn.attention.v_proj.weight attn.attention.out_proj.{weight,bias} mlp.c_fc.{weight,bias} "
     "mlp.c_proj.{weight,bias}"},
    {"gptj", "transformer.h.0.",
     "ln_1.{weight,bias} attn.q_proj.weight attn.k_proj.weight attn.v_proj.weight attn.out_proj.weight "
     "mlp.fc_in.{weight,bias} mlp.fc_out.{weight,bias}"},
    {"gpt_neox", "gpt_neox.layers.0.",
     "input_layernorm.{weight,bias} post_attention_layernorm.{weight,bias} attention.query_key_value.{weight,bias} "
     "attention.dense.{weight,bias} mlp.dense_h_to_4h.{weight,bias} mlp.dense_4h_to_h.{weight,bias}"},
    {"bloom", "transformer.h.0.",
     "input_layernorm.{weight,bias} post_attention_layernorm.{weight,bias} "
     "self_attention.query_key_value.{weight,bias} "
     "self_attention.dense.{weight,bias} mlp.dense_h_to_4h.{weight,bias} mlp.dense_4h_to_h.{weight,bias}"},
    {"falcon", "transformer.h.0.",
     "input_layernorm.{weight,bias} self_attention.query_key_value.weight self_attention.dense.weight "
     "mlp.dense_h_to_4h.weight mlp.dense_4h_to_h.weight"},
};

TEST(Stored, NamesTheTensorsOfALayerAsTheFamilyDoes) {
  std::set<std::string> seen;
  for (const FamilyLayer& expected : first_layers) {
    EXPECT_EQ(names_under(expected.prefix, stored_layout(small_model(expected.family))), words(expected.names))
        << expected.family;
    seen.insert(expected.family);
  }
  seen.insert("kimi_linear");  // Moonshot's names, which its small model in tests/data/families/tiny has
  for (const std::string& family : families()) EXPECT_TRUE(seen.contains(family)) << family;
}

TEST(Stored, NamesTheTensorsAroundTheLayersAsTheFamilyDoes) {
  const auto around = [](const Model& whole) {
    Model model = whole;
    model.layers.clear();
    return names_of(stored_layout(model));
  };
  EXPECT_EQ(around(small_model("llama")), words("model.embed_tokens.weight model.norm.weight lm_head.weight"));
  EXPECT_EQ(around(small_model("gemma2")), words("model.embed_tokens.weight model.norm.weight"));
  EXPECT_EQ(around(small_model("phi")),
            words("model.embed_tokens.weight model.final_layernorm.{weight,bias} lm_head.{weight,bias}"));
  EXPECT_EQ(around(small_model("gpt2")),
            words("transformer.wte.weight transformer.wpe.weight transformer.ln_f.{weight,bias}"));
  EXPECT_EQ(around(small_model("gptj")),
            words("transformer.wte.weight transformer.ln_f.{weight,bias} lm_head.{weight,bias}"));
  EXPECT_EQ(around(small_model("gpt_neox")),
            words("gpt_neox.embed_in.weight gpt_neox.final_layer_norm.{weight,bias} embed_out.weight"));
  EXPECT_EQ(around(small_model("bloom")), words("transformer.word_embeddings.weight transformer.ln_f.{weight,bias} "
                                                "transformer.word_embeddings_layernorm.{weight,bias}"));
  EXPECT_EQ(around(small_model("opt")), words("model.decoder.embed_tokens.weight model.decoder.embed_positions.weight "
                                              "model.decoder.final_layer_norm.{weight,bias}"));
}

// OPT-350M: the embedding is narrower than the model, norms stand after the sums, and there is none at the end.
TEST(Stored, KnowsTheOddFormOfOpt350m) {
  Model model = changed(small_model("opt"), [](Layer& layer) {
    std::swap(layer.sublayers.front().norms.before, layer.sublayers.front().norms.residual);
    std::swap(layer.sublayers.back().norms.before, layer.sublayers.back().norms.residual);
  });
  model.d_embedding = 3;
  model.final_norm.reset();
  const StoredLayout layout = stored_layout(model);
  expect_each_element_covered_once(layout);
  EXPECT_EQ(shape_of(layout, "model.decoder.embed_tokens.weight"), (Shape{11, 3}));
  EXPECT_EQ(shape_of(layout, "model.decoder.embed_positions.weight"), (Shape{5 + 2, 8}));
  EXPECT_EQ(shape_of(layout, "model.decoder.project_in.weight"), (Shape{8, 3}));
  EXPECT_EQ(shape_of(layout, "model.decoder.project_out.weight"), (Shape{3, 8}));
  EXPECT_EQ(parameter_shape(layout, "embedding.project.weight"), (Shape{8, 3}));
  EXPECT_EQ(parameter_shape(layout, "head.project.weight"), (Shape{3, 8}));
  EXPECT_EQ(place_of(layout, "layers.1.attention.norm_residual.bias", 2),
            "model.decoder.layers.1.self_attn_layer_norm.bias[2]");
  EXPECT_EQ(place_of(layout, "layers.1.feed_forward.norm_residual.weight", 0),
            "model.decoder.layers.1.final_layer_norm.weight[0]");
}

// Falcon 40B: two norms of their own names, and two query heads to each key head.
TEST(Stored, KnowsTheGroupedFormOfFalcon) {
  const Model model = changed(small_model("falcon"), [](Layer& layer) {
    layer.sublayers[1].reads = Sublayer::Reads::entry;
    layer.sublayers.back().norms.before = layer.sublayers.front().norms.before;
    find<Attention>(layer)->n_kv_heads = 2;
  });
  const StoredLayout layout = stored_layout(model);
  expect_each_element_covered_once(layout);
  EXPECT_EQ(names_under("transformer.h.0.ln", layout), words("_attn.{weight,bias} _mlp.{weight,bias}"));
  // Heads of 2 rows, 8 columns. Groups of [query query key value]: the query head 2 opens the second group, at row 8.
  const std::string qkv = "transformer.h.0.self_attention.query_key_value.weight";
  EXPECT_EQ(shape_of(layout, qkv), (Shape{16, 8}));
  EXPECT_EQ(place_of(layout, "layers.0.attention.query.weight", (2 * 2 + 1) * 8 + 3), qkv + "[75]");  // row 9
  EXPECT_EQ(place_of(layout, "layers.0.attention.key.weight", (1 * 2 + 1) * 8 + 3), qkv + "[107]");   // row 13
  EXPECT_EQ(place_of(layout, "layers.0.attention.value.weight", 0), qkv + "[48]");                    // row 6
}

TEST(Stored, FindsQueriesOfGptNeoxHeadByHead) {
  const StoredLayout layout = stored_layout(small_model("gpt_neox"));
  // Heads of 2: rows go q0 q0 k0 k0 v0 v0 q1 …
  const std::string qkv = "gpt_neox.layers.1.attention.query_key_value.";
  EXPECT_EQ(shape_of(layout, qkv + "weight"), (Shape{24, 8}));
  EXPECT_EQ(place_of(layout, "layers.1.attention.query.bias", 2), qkv + "bias[6]");
  EXPECT_EQ(place_of(layout, "layers.1.attention.key.bias", 3), qkv + "bias[9]");
  EXPECT_EQ(place_of(layout, "layers.1.attention.value.weight", 7 * 8 + 1), qkv + "weight[185]");  // row 23
}

TEST(Stored, TurnsTheMatricesOfGpt2) {
  const StoredLayout layout = stored_layout(small_model("gpt2"));
  // Stored in × out: key row 3, column 5 is at [5, 8 + 3] of [8, 24].
  EXPECT_EQ(shape_of(layout, "transformer.h.0.attn.c_attn.weight"), (Shape{8, 24}));
  EXPECT_EQ(place_of(layout, "layers.0.attention.key.weight", 3 * 8 + 5), "transformer.h.0.attn.c_attn.weight[131]");
  EXPECT_EQ(place_of(layout, "layers.0.attention.value.bias", 3), "transformer.h.0.attn.c_attn.bias[19]");
  EXPECT_EQ(shape_of(layout, "transformer.h.0.mlp.c_fc.weight"), (Shape{8, 12}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.feed_forward.up.weight"), (Shape{12, 8}));
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.up.weight", 11 * 8 + 2), "transformer.h.0.mlp.c_fc.weight[35]");
}

TEST(Stored, KnowsTheCrossAttentionOfGpt2) {
  const Model model = changed(small_model("gpt2"), [](Layer& layer) {
    Sublayer across = layer.sublayers[0];
    across.kind = CrossAttention{.n_heads = 4, .d_head = 2, .bias = true};
    layer.sublayers.insert(layer.sublayers.begin() + 1, across);
  });
  const StoredLayout layout = stored_layout(model);
  expect_each_element_covered_once(layout);
  EXPECT_EQ(shape_of(layout, "transformer.h.0.crossattention.c_attn.weight"), (Shape{8, 16}));
  EXPECT_EQ(place_of(layout, "layers.0.cross_attention.value.bias", 1),
            "transformer.h.0.crossattention.c_attn.bias[9]");
  EXPECT_EQ(place_of(layout, "layers.0.cross_attention.norm.bias", 1), "transformer.h.0.ln_cross_attn.bias[1]");
}

TEST(Stored, SplitsTheFusedMatricesOfPhi3) {
  const StoredLayout layout = stored_layout(small_model("phi3"));
  // 24 query rows, then 12 of keys, then 12 of values.
  EXPECT_EQ(shape_of(layout, "model.layers.0.self_attn.qkv_proj.weight"), (Shape{48, 8}));
  EXPECT_EQ(place_of(layout, "layers.0.attention.key.weight", 8), "model.layers.0.self_attn.qkv_proj.weight[200]");
  EXPECT_EQ(place_of(layout, "layers.0.attention.value.weight", 0), "model.layers.0.self_attn.qkv_proj.weight[288]");
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.up.weight", 0), "model.layers.0.mlp.gate_up_proj.weight[96]");
}

TEST(Stored, UntanglesTheExpertsOfGptOss) {
  const StoredLayout layout = stored_layout(small_model("gpt_oss"));
  // [3, 8, 24] with columns gate0 up0 gate1 up1 …: gate row 5, column 2 of expert 1 is at [1, 2, 10].
  EXPECT_EQ(shape_of(layout, "model.layers.0.mlp.experts.gate_up_proj"), (Shape{3, 8, 24}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.feed_forward.experts.gate.weight"), (Shape{3, 12, 8}));
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.experts.gate.weight", 1 * 96 + 5 * 8 + 2),
            "model.layers.0.mlp.experts.gate_up_proj[250]");
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.experts.up.weight", 1 * 96 + 5 * 8 + 2),
            "model.layers.0.mlp.experts.gate_up_proj[251]");
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.experts.up.bias", 2 * 12 + 1),
            "model.layers.0.mlp.experts.gate_up_proj_bias[51]");
  // down is [3, 12, 8], in × out: row 7, column 3 of expert 2 is at [2, 3, 7].
  EXPECT_EQ(parameter_shape(layout, "layers.0.feed_forward.experts.down.weight"), (Shape{3, 8, 12}));
  EXPECT_EQ(place_of(layout, "layers.0.feed_forward.experts.down.weight", 2 * 96 + 7 * 12 + 3),
            "model.layers.0.mlp.experts.down_proj[223]");
}

TEST(Stored, ReadsExpertsOneByOneOrFused) {
  const Model model = small_model("mixtral");
  const StoredLayout apart = stored_layout(model);
  EXPECT_EQ(place_of(apart, "layers.0.feed_forward.experts.up.weight", 2 * 96 + 9),
            "model.layers.0.block_sparse_moe.experts.2.w3.weight[9]");
  EXPECT_EQ(place_of(apart, "layers.0.feed_forward.experts.down.weight", 96),
            "model.layers.0.block_sparse_moe.experts.1.w2.weight[0]");
  for (const std::string family : {"mixtral", "qwen3_moe"}) {
    const StoredLayout fused = stored_layout(
        small_model(family), {"model.layers.0.mlp.experts.down_proj", "model.layers.1.mlp.experts.down_proj"});
    expect_each_element_covered_once(fused);
    EXPECT_EQ(shape_of(fused, "model.layers.0.mlp.experts.gate_up_proj"), (Shape{3, 24, 8}));
    // Expert 2, up, row 1, column 1: [2, 12 + 1, 1].
    EXPECT_EQ(place_of(fused, "layers.0.feed_forward.experts.up.weight", 2 * 96 + 9),
              "model.layers.0.mlp.experts.gate_up_proj[489]");
    EXPECT_EQ(shape_of(fused, "model.layers.0.mlp.gate.weight"), (Shape{3, 8}));
  }
}

TEST(Stored, KeepsTheCorrectionBiasApartFromParameters) {
  const StoredLayout layout = stored_layout(small_model("deepseek_v3"));
  ASSERT_EQ(layout.buffers.size(), 1u);
  EXPECT_EQ(full_name(layout.buffers[0].key), "layers.1.feed_forward.correction.bias");
  EXPECT_EQ(layout.buffers[0].views[0].tensor, "model.layers.1.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(parameter_shape(layout, "layers.1.feed_forward.correction.bias"), (Shape{-1}));
}

TEST(Stored, GivesLatentAttentionItsShapes) {
  Model model = small_model("deepseek_v2");
  StoredLayout layout = stored_layout(model);
  // 4 heads of 3 + 2, ranks 7 and 3, values of 4.
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.query_down.weight"), (Shape{7, 8}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.query_up.weight"), (Shape{20, 7}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.kv_down.weight"), (Shape{5, 8}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.kv_down_norm.weight"), (Shape{3}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.kv_up.weight"), (Shape{28, 3}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.output.weight"), (Shape{8, 16}));
  model = changed(model, [](Layer& layer) { find<Attention>(layer)->latent->query_rank = 0; });
  layout = stored_layout(model);
  EXPECT_EQ(shape_of(layout, "model.layers.0.self_attn.q_proj.weight"), (Shape{20, 8}));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.query.weight"), (Shape{20, 8}));
}

TEST(Stored, JoinsTheHeadNormsOfStableLm) {
  const StoredLayout layout = stored_layout(small_model("stablelm"));
  EXPECT_EQ(parameter_shape(layout, "layers.0.attention.query_norm.weight"), (Shape{4, 6}));
  EXPECT_EQ(place_of(layout, "layers.0.attention.key_norm.weight", 6 + 2),
            "model.layers.0.self_attn.k_layernorm.norms.1.weight[2]");
  EXPECT_EQ(parameter_shape(stored_layout(small_model("olmo2")), "layers.0.attention.key_norm.weight"), (Shape{12}));
  EXPECT_EQ(shape_of(stored_layout(small_model("cohere")), "model.layers.0.self_attn.q_norm.weight"), (Shape{4, 6}));
}

TEST(Stored, FollowsThePrefixAndTheHeadThatTheFileHas) {
  EXPECT_TRUE(names_of(stored_layout(small_model("gpt2"), {"wte.weight"})).contains("h.0.ln_1.weight"));
  EXPECT_TRUE(names_of(stored_layout(small_model("opt"), {"decoder.embed_tokens.weight"}))
                  .contains("decoder.layers.0.fc1.weight"));
  EXPECT_TRUE(names_of(stored_layout(small_model("gpt_neox"), {"lm_head.weight"})).contains("lm_head.weight"));
  const auto nested = names_of(stored_layout(
      small_model("llama"), {"language_model.model.embed_tokens.weight", "language_model.lm_head.weight"}));
  EXPECT_TRUE(nested.contains("language_model.model.norm.weight"));
  EXPECT_TRUE(nested.contains("language_model.lm_head.weight"));
}

TEST(Stored, SaysWhatAFamilysFilesCannotHold) {
  const auto error_of_layout = [](const Model& model) { return error_of([&] { stored_layout(model); }); };
  EXPECT_EQ(error_of_layout(changed(small_llama(), [](Layer& layer) { find<Attention>(layer)->sinks = true; })),
            "'small llama' has layers.0.attention.sinks.weight, which files of the family 'llama' have no name for");
  EXPECT_EQ(
      error_of_layout(changed(small_model("phi3"), [](Layer& layer) { find<Attention>(layer)->key_bias = true; })),
      "'small phi3' has a bias on only one of layers.0.attention.query and layers.0.attention.key, which share a "
      "tensor in files of the family 'phi3'");
  EXPECT_EQ(error_of_layout(small_llama("rwkv")), "the names of tensors in files of the family 'rwkv' are not known");
}

// A few bytes of a header could ask for any number of names, where experts have tensors of their own.
TEST(Stored, ListsNoMoreExpertsThanAFileCouldHold) {
  const StoredNames files[] = {
      {"model.embed_tokens.weight", "model.layers.0.block_sparse_moe.experts.0.w2.weight"},
      {"token_embd.weight", "blk.0.ffn_down.0.weight", "blk.0.ffn_gate.0.weight"}};  // Mixtral before 2024-04
  const auto model_with = [](std::int64_t experts) {
    return changed(small_model("mixtral"), [&](Layer& layer) { find<Mixture>(layer)->n_experts = experts; });
  };
  for (const StoredNames& names : files) {
    EXPECT_GT(stored_layout(model_with(20'000), names).tensors.size(), 3 * 20'000U);
    EXPECT_EQ(error_of([&] { stored_layout(model_with(200'000), names); }),
              "'small mixtral' has 200000 experts with tensors of their own in layer 0, far more than the " +
                  std::to_string(names.size()) + " tensors of the file");
  }
}

// The header of a file that holds these tensors.
TensorFile header_of(const std::vector<StoredTensor>& tensors, DType type = DType::bfloat16) {
  TensorFile header;
  header.files.push_back({"t.safetensors", 0, 0, {}});
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::int64_t elements = product(tensor.shape);
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(row_bytes(type, elements));
    header.tensors.push_back({tensor.name, type, tensor.shape, elements, 0, begin, end});
  }
  return header;
}

TEST(FileReport, FindsACompleteFileComplete) {
  for (const std::string& family : families()) {
    const Model model = small_model(family);
    const FileReport report = inspect_file(model, header_of(stored_layout(model).tensors));
    EXPECT_TRUE(report.complete) << family;
    EXPECT_TRUE(report.unexpected.empty()) << family;
    EXPECT_EQ(report.elements, report.expected_elements + report.buffer_elements) << family;
    EXPECT_EQ(report.bytes, 2 * report.elements) << family;
    EXPECT_EQ(report.types.at(DType::bfloat16).elements, report.elements) << family;
  }
}

TEST(FileReport, NamesWhatIsMissingMisshapenOrTooMuch) {
  const Model model = small_model("gpt2");
  std::vector<StoredTensor> tensors = stored_layout(model).tensors;
  ASSERT_EQ(tensors.front().name, "transformer.wte.weight");
  tensors.front().shape = {12, 8};
  std::erase_if(tensors, [](const StoredTensor& t) { return t.name == "transformer.h.1.ln_2.bias"; });
  tensors.push_back({"transformer.h.0.attn.bias", {1, 1, 5, 5}});
  tensors.push_back({"lm_head.weight", {11, 8}});
  tensors.push_back({"transformer.h.7.ln_1.weight", {8}});
  tensors.push_back({"surprise", {2}});
  const FileReport report = inspect_file(model, header_of(tensors));
  EXPECT_FALSE(report.complete);
  ASSERT_EQ(report.missing.size(), 1u);
  EXPECT_EQ(report.missing[0].name, "transformer.h.1.ln_2.bias");
  EXPECT_EQ(report.missing[0].shape, (Shape{8}));
  ASSERT_EQ(report.misshapen.size(), 1u);
  EXPECT_EQ(report.misshapen[0].found, (Shape{12, 8}));
  EXPECT_EQ(report.misshapen[0].expected, (Shape{11, 8}));
  ASSERT_EQ(report.unexpected.size(), 4u);
  EXPECT_EQ(report.unexpected[0].why, "stored attention mask");
  EXPECT_EQ(report.unexpected[0].elements, 25);
  EXPECT_EQ(report.unexpected[1].why, "duplicate of the embedding (tied head)");
  EXPECT_EQ(report.unexpected[2].why, "layer 7 of a model with 2 layers");
  EXPECT_EQ(report.unexpected[3].why, "");
}

TEST(FileReport, RecognizesThePackedExpertsOfGptOss) {
  const Model model = small_model("gpt_oss");
  std::vector<StoredTensor> tensors;
  for (const StoredTensor& tensor : stored_layout(model).tensors) {
    if (tensor.name.ends_with("experts.gate_up_proj") || tensor.name.ends_with("experts.down_proj")) {
      tensors.push_back({tensor.name + "_blocks", {3, 24, 1, 4}});
      tensors.push_back({tensor.name + "_scales", {3, 24, 1}});
    } else {
      tensors.push_back(tensor);
    }
  }
  const FileReport report = inspect_file(model, header_of(tensors));
  EXPECT_TRUE(report.complete);
  ASSERT_EQ(report.quantized.size(), 4u);
  EXPECT_EQ(report.quantized[0].name, "model.layers.0.mlp.experts.gate_up_proj");
  EXPECT_EQ(report.quantized[0].format, "MXFP4");
  ASSERT_EQ(report.unexpected.size(), 8u);
  EXPECT_EQ(report.unexpected[0].why, "MXFP4 blocks, two 4-bit elements to a byte");
  EXPECT_EQ(report.unexpected[1].why, "quantization scale");
}

TEST(FileReport, KnowsTheExtraLayerAndTheScalesOfDeepseekV3) {
  const Model model = small_model("deepseek_v3");
  std::vector<StoredTensor> tensors = stored_layout(model).tensors;
  tensors.push_back({"model.layers.2.eh_proj.weight", {8, 16}});
  tensors.push_back({"model.layers.0.mlp.down_proj.weight_scale_inv", {1, 1}});
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}});
  const FileReport report = inspect_file(model, header_of(tensors, DType::float8_e4m3));
  EXPECT_TRUE(report.complete);
  ASSERT_EQ(report.unexpected.size(), 3u);
  EXPECT_EQ(report.unexpected[0].why, "multi-token prediction layer");
  EXPECT_EQ(report.unexpected[1].why, "quantization scale");
  EXPECT_EQ(report.unexpected[2].why, "rotary table");
}

// The tiny models' files, with their models built by hand from config.json.
struct Tiny {
  const char* folder;
  Model model;
  std::int64_t parameters;  // from io.json
};

Tiny tiny_llama() {
  Model model = changed(small_llama(), [](Layer& layer) {
    find<Attention>(layer)->n_heads = 6;
    find<Attention>(layer)->n_kv_heads = 2;
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 8;
    feed_forward_of(layer)->d_ff = 112;
  });
  model.d_model = model.d_embedding = 48;
  model.vocab_size = 263;
  model.context = 128;
  model.layers.resize(3, model.layers[0]);
  return {"llama-gqa", model, 92400};
}

Tiny tiny_gpt2() {
  Model model = changed(small_model("gpt2"), [](Layer& layer) {
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 12;
    feed_forward_of(layer)->d_ff = 192;
  });
  model.d_model = model.d_embedding = 48;
  model.vocab_size = 257;
  model.context = 64;
  model.layers.resize(3, model.layers[0]);
  return {"gpt2", model, 100320};
}

Tiny tiny_gpt_neox() {
  Model model = changed(small_model("gpt_neox"), [](Layer& layer) {
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 16;
    feed_forward_of(layer)->d_ff = 256;
  });
  model.d_model = model.d_embedding = 64;
  model.vocab_size = 263;
  return {"gpt_neox", model, 133760};
}

Tiny tiny_mixtral() {
  Model model = changed(small_model("mixtral"), [](Layer& layer) {
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 12;
    feed_forward_of(layer)->d_ff = 96;
    find<Mixture>(layer)->n_experts = 4;
  });
  model.d_model = model.d_embedding = 48;
  model.vocab_size = 263;
  return {"mixtral", model, 150288};
}

Tiny tiny_phi3() {
  Model model = changed(small_model("phi3"), [](Layer& layer) {
    find<Attention>(layer)->n_kv_heads = 4;
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 12;
    feed_forward_of(layer)->d_ff = 96;
  });
  model.d_model = model.d_embedding = 48;
  model.vocab_size = 263;
  return {"phi3", model, 71568};
}

TEST(FileReport, FindsTheTinyModelsComplete) {
  for (const Tiny& tiny : {tiny_llama(), tiny_gpt2(), tiny_gpt_neox(), tiny_mixtral(), tiny_phi3()}) {
    SCOPED_TRACE(tiny.folder);
    const TensorFile header = read_tensor_file(std::string(project_folder() + "/tests/data/tiny/") + tiny.folder);
    const FileReport report = inspect_file(tiny.model, header);
    EXPECT_TRUE(report.complete);
    EXPECT_TRUE(report.unexpected.empty());
    EXPECT_EQ(report.elements, tiny.parameters);
    EXPECT_EQ(report.expected_elements, tiny.parameters);
    expect_each_element_covered_once(stored_layout(tiny.model, header));
  }
}

// Kimi K2.5's, Gemma 3n's and others' files name the language model before its tensors.
TEST(StoredLayout, LanguageModelsInWrappersAreFoundUnderTheirPrefixes) {
  for (const char* family : {"deepseek_v3", "gemma3n_text", "llama", "qwen3"})
    for (const std::string prefix : {"model.", "language_model.model.", "model.language_model."}) {
      const StoredLayout layout = stored_layout(small_model(family), StoredNames{prefix + "embed_tokens.weight"});
      for (const StoredTensor& tensor : layout.tensors)
        EXPECT_TRUE(tensor.name.starts_with(prefix) || tensor.name.find("lm_head") != std::string::npos) << tensor.name;
    }
}

}  // namespace
