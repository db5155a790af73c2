// Random configs of every model type of tests/data/families: their parameters, and the FLOPs of forward and backward
// passes, as transformers' own model code has them (scripts/references.py).
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "counter_differences.h"
#include "family_references.h"
#include "model/read.h"
#include "model/sublayers.h"
#include "model/types.h"
#include "network/forward.h"

namespace reckon {
namespace {

using counter_differences::Passes;
using family_references::folder;
using family_references::found;
using family_references::read_json;
using nlohmann::json;

std::vector<std::string> split_names(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The types that must be there: a folder that is lost, or a type that is no longer read, fails here.
TEST(Families, TheTypesThatAreReadHaveTheirReferences) {
  const std::vector<std::string> must = split_names(
      "afmoe apertus aria_text axk1 axk2 bamba biogpt bloom codegen cohere cohere2 cohere2_moe "
      "cohere_compass_text cwm dbrx deepseek_v2 deepseek_v32 deepseek_v4 diffllama doge dots1 ernie4_5 "
      "ernie4_5_moe exaone4 exaone4_5 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo gemma3 gemma3_text "
      "gemma3n gemma3n_text gemma4 gemma4_text gemma4_unified gemma4_unified_text glm glm4 glm4_moe "
      "glm4_moe_lite glm4v glm4v_moe glm_moe_dsa gpt-sw3 gpt_bigcode gpt_neo gpt_neox_japanese gptj granite "
      "granite_swa granitemoe granitemoe_swa granitemoehybrid granitemoeshared helium hunyuan_v1_dense "
      "hunyuan_v1_moe hy_v3 hyperclovax inkling_text jais2 jamba jetmoe kimi_k25 kimi_linear laguna lfm2 "
      "lfm2_moe llama4 llama4_text longcat_flash mamba mamba2 mellum mimo_v2_flash minicpm3 minimax minimax_m2 "
      "minimax_m3_vl minimax_m3_vl_text ministral ministral3 mistral3 mistral4 mpt nanochat nemotron nemotron_h "
      "olmo olmo3 olmo_hybrid olmoe openai-gpt persimmon phi phimoe qwen2_5_vl qwen2_moe qwen2_vl qwen3_5 "
      "qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_next qwen3_vl qwen3_vl_moe recurrent_gemma seed_oss "
      "smollm3 solar_open stablelm starcoder2 step3p7 vaultgemma xglm youtu zamba zamba2 zaya");
  // Their small models are in tests/data/tiny.
  const std::vector<std::string> counted_alone = split_names(
      "arcee deepseek_v3 gemma gemma2 gpt2 gpt_neox gpt_oss llama mistral mixtral olmo2 opt phi3 qwen2 qwen3 "
      "qwen3_moe");
  const std::vector<std::string> run_alone = split_names(
      "deepseek_v4-yarn diffllama-llama3 doge-moe exaone4-llama3 gemma4_text-moe gpt_bigcode-mha "
      "hunyuan_v1_dense-alpha hunyuan_v1_moe-alpha laguna-element laguna-yarn llama4_text-llama3 mellum-yarn "
      "olmo3-yarn phimoe-longrope-long phimoe-longrope-short solar_open-yarn stablelm-parallel");
  const std::vector<std::string> counted = found("configs"), run = found("tiny");
  for (const std::vector<std::string>& types : {must, counted_alone})
    for (const std::string& type : types)
      EXPECT_TRUE(std::count(counted.begin(), counted.end(), type)) << type << " has no configs";
  for (const std::vector<std::string>& types : {must, run_alone})
    for (const std::string& type : types)
      EXPECT_TRUE(std::count(run.begin(), run.end(), type)) << type << " has no small model";
}

class FamilyConfigs : public testing::TestWithParam<std::string> {};

// Of an expert on one row, where a token may choose identity experts instead; 0 where there are none.
std::int64_t flops_of_identity(const Model& model) {
  const Mixture* mixture = find<Mixture>(model);
  return mixture != nullptr && mixture->n_identity > 0 ? 6 * model.d_model * mixture->expert.d_ff : 0;
}

// Experts that a token chooses in all layers together.
std::int64_t choices(const Model& model) {
  std::int64_t sum = 0;
  for_each<Mixture>(model.layers, [&](const Mixture& m) { sum += m.n_active; });
  return sum;
}

// transformers' class of LongCat has gates and ups for identity experts too, which nobody reads.
std::int64_t parameters_of_identity_experts(const Model& model) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    for_each<Mixture>(layer, [&](const Mixture& m) { sum += m.n_identity * 2 * m.expert.d_ff * model.d_model; });
  return sum;
}

// Where Zamba 2's blocks are not shared, transformers' class has in each of them the adapters of all layers that would
// share it, of which one is read.
std::int64_t parameters_of_unread_adapters(const Model& model, const json& config) {
  if (config["model_type"] != "zamba2" || model.head.tied) return 0;
  const auto hybrids = config["hybrid_layer_ids"].size(), blocks = config["num_mem_blocks"].get<std::size_t>();
  std::int64_t sum = 0;
  std::size_t number = 0;
  for (const Layer& layer : model.layers) {
    const Attention* a = find<Attention>(layer);
    if (a == nullptr) continue;
    const std::size_t of_block = (hybrids - number++ % blocks + blocks - 1) / blocks;
    const FeedForward& f = *find<FeedForward>(layer);
    std::int64_t each = f.adapter_rank * (model.d_model + 2 * f.d_ff);
    each += a->adapter_rank * (3 * 2 * model.d_model + (a->n_heads + 2 * a->n_kv_heads) * a->d_head);
    sum += static_cast<std::int64_t>(of_block - 1) * each;
  }
  return sum;
}

TEST_P(FamilyConfigs, AreCountedAsTransformersCountsThem) {
  const json all = read_json(folder() / "configs" / (GetParam() + ".json"));
  ASSERT_GE(all["configs"].size(), 12u);
  int number = 0;
  for (const json& entry : all["configs"]) {
    SCOPED_TRACE(std::to_string(number++) + ": " + entry["config"].dump());
    // transformers' own defaults of glm4_moe give a head 42.67 elements, of which it rotates 22 by 21 angles.
    if (GetParam() == "glm4_moe" && entry["config"]["num_attention_heads"] == 96) continue;
    // Some of these have tokens choose more experts than there are: transformers counts them, and cannot run them.
    if (GetParam() == "granitemoehybrid" && entry["config"]["num_local_experts"] > 0 &&
        entry["config"]["num_experts_per_tok"] > entry["config"]["num_local_experts"])
      continue;
    // …and of these they say no number of experts a token takes, or give a head 42.67 elements again.
    if (GetParam() == "deepseek_v2" && entry["config"]["num_experts_per_tok"].is_null()) continue;
    if (GetParam() == "glm4v_moe" && entry["config"]["text_config"]["num_attention_heads"] == 96) continue;
    // Nor can it rotate more elements than an indexer's heads have.
    if (GetParam() == "deepseek_v4" && entry["config"]["index_head_dim"] < entry["config"]["qk_rope_head_dim"])
      continue;
    Model model;
    ASSERT_NO_THROW(model = read_config(entry["config"], "config.json")) << [&] {
      try {
        read_config(entry["config"], "config.json");
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string();
    }();
    auto parameters = entry["parameters"].get<std::int64_t>();
    const json parts = entry.value("parts", json::object());
    for (const auto& [part, size] : parts.items())  // a wrapper's others
      if (part.find("language_model") == std::string::npos && part != "lm_head.weight")
        parameters -= size.get<std::int64_t>();
    EXPECT_EQ(count_parameters(model), parameters - parameters_of_identity_experts(model) -
                                           parameters_of_unread_adapters(model, entry["config"]));
    // transformers cannot run Doge's mixtures, and counts no FLOPs of large models.
    const bool runs = entry["kind"] == "small" && !(GetParam() == "doge" && entry["config"]["is_moe"]);
    ASSERT_EQ(entry.contains("flops") && entry["flops"].is_object(), runs);
    if (!runs) continue;
    const json& flops = entry["flops"];
    Workload workload = workload_of(Phase::forward);
    workload.batch = flops["batch"];
    workload.tokens = flops["tokens"];
    Passes theirs{flops["forward"], flops["backward"]};  // without the product of RoPE's frequencies
    // …which of lfm2_moe stands in another class than the others', and is among the rest.
    if (GetParam() == "lfm2_moe") theirs.forward -= workload.tokens * first_attention(model).d_head;
    if (GetParam() == "gemma3n") {  // projects a token of its eyes and one of its ears for each
      const json &eyes = entry["config"]["vision_config"], &ears = entry["config"]["audio_config"];
      const std::int64_t width = eyes["hidden_size"].get<std::int64_t>() + ears["hidden_size"].get<std::int64_t>();
      const std::int64_t products = 2 * workload.batch * workload.tokens * width * model.d_model;
      theirs.forward -= products;
      theirs.backward -= 2 * products;
    }
    const Passes more = counter_differences::all(model, workload.batch, workload.tokens,
                                                 entry["config"].value("block_size", std::int64_t{256}));
    Passes expected{theirs.forward - more.forward, theirs.backward - more.backward};
    const auto forward = static_cast<std::int64_t>(count(model, workload).forward.matmul);
    if (const std::int64_t identity = flops_of_identity(model); identity > 0) {
      // Of LongCat's tokens those that chose identity experts ran none there: so many choices, which depend on the
      // data.
      const std::int64_t rows = workload.batch * workload.tokens * choices(model);
      const std::int64_t less = forward - expected.forward;
      EXPECT_EQ(less % identity, 0);
      EXPECT_GE(less, 0);
      EXPECT_LE(less, rows * identity);
      expected.forward += less;
      expected.backward += 2 * less;
    }
    EXPECT_EQ(forward, expected.forward);
    if (!is_trainable(model.family)) continue;
    workload.phase = Phase::train;
    EXPECT_EQ(count(model, workload).backward.matmul, expected.backward);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyConfigs, testing::ValuesIn(found("configs")),
                         [](const auto& entry) { return family_references::test_name(entry.param); });

}  // namespace
}  // namespace reckon
