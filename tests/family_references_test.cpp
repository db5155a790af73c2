// What references of model types there are (scripts/references.py), and that those who made them found nothing wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "family_references.h"

namespace reckon {
namespace {

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

// A failure is a feature or a tensor that does not move the logits, a run in pieces that differs, a file that is read
// back otherwise: what nobody could test with such a model.
TEST(Families, TheirSmallModelsWereMadeWithoutFailure) {
  const json types = read_json(folder() / "report.json")["types"];
  std::size_t models = 0;
  for (const auto& [type, report] : types.items())
    for (const auto& [variant, model] : report["tiny"].items()) {
      ++models;
      EXPECT_EQ(model["failures"], json::array()) << type << " " << variant;
      EXPECT_TRUE(std::filesystem::exists(folder() / "tiny" / (type + (variant == "plain" ? "" : variant))))
          << type << " " << variant;
    }
  EXPECT_EQ(models, found("tiny").size());
}

TEST(Families, TheirSmallModelsAreSmall) {
  for (const std::string& name : found("tiny")) {
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder() / "tiny" / name)) bytes += file.file_size();
    EXPECT_LE(bytes, 250'000u) << name;
  }
}

TEST(Families, TheDocumentNamesTheTypesWhoseSmallModelsAreLargeInSum) {
  const json types = read_json(folder() / "report.json")["types"];
  std::vector<std::string> large;
  for (const auto& [type, report] : types.items()) {
    std::uintmax_t bytes = 0;
    for (const auto& [variant, model] : report["tiny"].items()) {
      const std::filesystem::path small = folder() / "tiny" / (type + (variant == "plain" ? "" : variant));
      for (const auto& file : std::filesystem::directory_iterator(small)) bytes += file.file_size();
    }
    if (bytes > 250'000u) large.push_back(type);
  }
  const std::string sentence = fmt::format("More than 250 kB in sum have {}.", fmt::join(large, ", "));
  EXPECT_NE(family_references::document().find(sentence), std::string::npos) << sentence;
}

}  // namespace
}  // namespace reckon
