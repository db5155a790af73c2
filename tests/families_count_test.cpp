// Random configs of every model type of tests/data/families: their parameters and FLOPs, as transformers' own model
// code has them (scripts/references.py).
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <set>

#include "family_references.h"
#include "model/read.h"
#include "model/sublayers.h"
#include "network/forward.h"

namespace reckon {
namespace {

using family_references::folder;
using family_references::found;
using family_references::read_json;
using nlohmann::json;

// The types that must be there: a folder that is lost, or a type that is no longer read, fails here.
TEST(Families, TheTypesThatAreReadHaveTheirReferences) {
  const std::set<std::string> must{"afmoe",
                                   "apertus",
                                   "aria_text",
                                   "axk1",
                                   "bamba",
                                   "biogpt",
                                   "codegen",
                                   "cohere2",
                                   "cohere2_moe",
                                   "cohere_compass_text",
                                   "cwm",
                                   "dbrx",
                                   "diffllama",
                                   "dots1",
                                   "ernie4_5",
                                   "ernie4_5_moe",
                                   "exaone4",
                                   "exaone_moe",
                                   "falcon_h1",
                                   "falcon_mamba",
                                   "flex_olmo",
                                   "gemma3n_text",
                                   "gemma4_text",
                                   "gemma4_unified_text",
                                   "glm",
                                   "glm4",
                                   "glm4_moe",
                                   "glm4_moe_lite",
                                   "gpt-sw3",
                                   "gpt_bigcode",
                                   "gpt_neox_japanese",
                                   "granite_swa",
                                   "granitemoe",
                                   "granitemoe_swa",
                                   "granitemoehybrid",
                                   "granitemoeshared",
                                   "helium",
                                   "hunyuan_v1_dense",
                                   "hunyuan_v1_moe",
                                   "hy_v3",
                                   "hyperclovax",
                                   "jais2",
                                   "jamba",
                                   "jetmoe",
                                   "laguna",
                                   "lfm2",
                                   "lfm2_moe",
                                   "llama4_text",
                                   "mamba",
                                   "mamba2",
                                   "mellum",
                                   "mimo_v2_flash",
                                   "minicpm3",
                                   "minimax",
                                   "minimax_m2",
                                   "ministral",
                                   "ministral3",
                                   "mistral4",
                                   "mpt",
                                   "nanochat",
                                   "nemotron",
                                   "nemotron_h",
                                   "olmo",
                                   "olmo3",
                                   "olmo_hybrid",
                                   "olmoe",
                                   "openai-gpt",
                                   "persimmon",
                                   "phimoe",
                                   "qwen2_moe",
                                   "qwen3_5_moe_text",
                                   "qwen3_5_text",
                                   "qwen3_next",
                                   "recurrent_gemma",
                                   "seed_oss",
                                   "smollm3",
                                   "solar_open",
                                   "vaultgemma",
                                   "xglm",
                                   "youtu"};
  const std::vector<std::string> counted = found("configs"), run = found("tiny");
  for (const std::string& type : must) {
    EXPECT_TRUE(std::count(counted.begin(), counted.end(), type)) << type << " has no configs";
    EXPECT_TRUE(std::count(run.begin(), run.end(), type)) << type << " has no small model";
  }
}

class FamilyConfigs : public testing::TestWithParam<std::string> {};

// transformers runs every expert of Llama 4 on every token; those that were not chosen read zeros.
std::int64_t flops_of_idle_experts(const Model& model, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    if (const Mixture* mixture = find<Mixture>(layer))
      sum += (mixture->n_experts - mixture->n_active) * tokens * 6 * model.d_model * mixture->expert.d_ff;
  return sum;
}

// transformers pads a short convolution on both sides, and leaves out the w − 1 results behind the text.
std::int64_t flops_of_padding(const Model& model, std::int64_t batch) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    if (const Recurrence* r = find<Recurrence>(layer))
      sum += 2 * batch * (r->conv_width - 1) * r->conv_width * r->n_heads * r->d_head;
  return sum;
}

// transformers computes the scores of differential attention twice, once for each half of the values.
std::int64_t flops_of_second_scores(const Model& model, std::int64_t batch, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    if (const Attention* a = find<Attention>(layer); a && a->difference)
      sum += 2 * batch * a->n_heads * tokens * tokens * a->d_head;
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
      if (part != "model.language_model" && part != "lm_head.weight") parameters -= size.get<std::int64_t>();
    EXPECT_EQ(count_parameters(model), parameters);
    if (!entry.contains("flops") || !entry["flops"].is_object()) continue;
    const json& flops = entry["flops"];
    if (!all["note"].is_null() && GetParam() != "llama4_text") continue;  // what transformers' counter leaves out
    Workload workload = workload_of(Phase::forward);
    workload.batch = flops["batch"];
    workload.tokens = flops["tokens"];
    auto expected = flops["forward"].get<std::int64_t>();  // without the product of RoPE's frequencies
    expected -= flops_of_padding(model, workload.batch);
    expected -= flops_of_second_scores(model, workload.batch, workload.tokens);
    // Its product of RoPE's frequencies stands in another class than the others', and is among the rest.
    if (GetParam() == "lfm2_moe") expected -= workload.tokens * first_attention(model).d_head;
    if (GetParam() == "llama4_text") expected -= flops_of_idle_experts(model, workload.tokens * workload.batch);
    EXPECT_EQ(count(model, workload).forward.matmul, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyConfigs, testing::ValuesIn(found("configs")),
                         [](const auto& entry) { return family_references::test_name(entry.param); });

}  // namespace
}  // namespace reckon
