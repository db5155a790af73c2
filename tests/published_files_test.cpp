// config.json files as their makers published them (tests/data/families/published; sources.json says where each was
// found): every one is read, and its parameters are what transformers counts for the same file (totals.json) and what
// is stated of it elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <cmath>
#include <fstream>
#include <set>

#include "family_references.h"
#include "model/modify.h"
#include "model/read.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using family_references::folder;
using family_references::read_json;
using nlohmann::json;

Model published(const std::string& name) { return load_model((folder() / "published" / (name + ".json")).string()); }

// All of types that are read; with a field, those that have it.
std::vector<std::string> names(const char* field = nullptr) {
  std::vector<std::string> all;
  const json sources = read_json(folder() / "published/sources.json");
  for (const auto& [name, source] : sources.items())
    if (find_family(source["type"].get<std::string>()) != nullptr &&
        (field == nullptr || (source.contains(field) && !source[field].is_null())))
      all.push_back(name);
  return all;
}

std::vector<std::string> names_with_totals() {
  std::vector<std::string> all;
  const json totals = read_json(folder() / "published/totals.json");
  for (const auto& [name, total] : totals.items()) all.push_back(name);
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& one) {
  return family_references::test_name(one.param);
}

class PublishedFile : public testing::TestWithParam<std::string> {};
class PublishedFileWithATotal : public testing::TestWithParam<std::string> {};
class PublishedFileWithAStatement : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, PublishedFile, testing::ValuesIn(names()), test_name);
INSTANTIATE_TEST_SUITE_P(Every, PublishedFileWithATotal, testing::ValuesIn(names_with_totals()), test_name);
INSTANTIATE_TEST_SUITE_P(Every, PublishedFileWithAStatement, testing::ValuesIn(names("stated")), test_name);

TEST_P(PublishedFile, IsCounted) {
  const Model model = published(GetParam());
  Workload workload = workload_of(Phase::forward);
  workload.tokens = 4;
  const Ledger ledger = count(model, workload);
  EXPECT_EQ(ledger.parameter_totals.total, count_parameters(model));
  EXPECT_GT(ledger.forward.matmul, 0);
}

TEST_P(PublishedFileWithATotal, HasTransformersParameters) {
  const json total = read_json(folder() / "published/totals.json")[GetParam()];
  std::int64_t more = 0;  // what transformers' class has and nobody reads
  if (total.contains("differs")) {
    EXPECT_FALSE(total["differs"]["reason"].get<std::string>().empty());
    more = total["differs"]["by"].get<std::int64_t>();
  }
  EXPECT_EQ(count_parameters(published(GetParam())), total["parameters"].get<std::int64_t>() - more);
}

// A number as people state it: 518983059456, 9.78B, 350M. It holds to one of its last digit that is not 0, because
// names are rounded up and down; all digits of a whole number hold.
bool agrees(const std::string& stated, std::int64_t parameters) {
  const char last = stated.back();
  if (last != 'B' && last != 'M') return parameters == std::stoll(stated);
  std::string digits = stated.substr(0, stated.size() - 1);
  double unit = last == 'B' ? 1e9 : 1e6;
  const double value = std::stod(digits) * unit;
  if (const std::size_t point = digits.find('.'); point != std::string::npos)
    unit /= std::pow(10.0, static_cast<double>(digits.size() - point - 1));
  else
    for (; digits.size() > 1 && digits.back() == '0'; digits.pop_back()) unit *= 10;
  return std::abs(static_cast<double>(parameters) - value) < unit;
}

TEST(PublishedFiles, AStatedNumberHoldsInItsDigits) {
  EXPECT_TRUE(agrees("9780235392", 9780235392));
  EXPECT_FALSE(agrees("9780235392", 9780235393));
  EXPECT_TRUE(agrees("9.78B", 9789999999));
  EXPECT_TRUE(agrees("9.78B", 9770000001));
  EXPECT_FALSE(agrees("9.78B", 9790000000));
  EXPECT_TRUE(agrees("350M", 356712448));
  EXPECT_FALSE(agrees("350M", 331196416));
}

TEST_P(PublishedFileWithAStatement, HasTheStatedParameters) {
  const json source = read_json(folder() / "published/sources.json")[GetParam()];
  const std::string stated = source["stated"]["parameters"];
  const auto parameters = static_cast<std::int64_t>(count_parameters(published(GetParam())));
  if (!source.contains("differs")) {
    EXPECT_TRUE(agrees(stated, parameters)) << parameters << ", stated " << stated;
    return;
  }
  const json& differs = source["differs"];
  EXPECT_FALSE(differs["reason"].get<std::string>().empty());
  EXPECT_FALSE(agrees(stated, parameters)) << "it agrees, and yet `differs` says why it does not";
  if (differs["by"].is_null()) return;  // a name that does not fit
  EXPECT_TRUE(agrees(stated, parameters + differs["by"].get<std::int64_t>())) << parameters << ", stated " << stated;
}

TEST(PublishedFiles, AreAllNamedWithTheirSources) {
  const json sources = read_json(folder() / "published/sources.json");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "published")) {
    const std::string name = entry.path().stem().string();
    if (name == "sources" || name == "totals") continue;
    ++files;
    ASSERT_TRUE(sources.contains(name)) << name;
    for (const char* field : {"type", "model", "repository", "path", "commit"})
      EXPECT_TRUE(sources[name].contains(field)) << name << ": " << field;
  }
  EXPECT_EQ(files, sources.size());
  EXPECT_EQ(names().size(), sources.size());
  EXPECT_GE(names().size(), 148u);
}

TEST(PublishedFiles, AreOfAsManyTypesAsTheDocumentSays) {
  std::set<std::string> types;
  const json sources = read_json(folder() / "published/sources.json");
  for (const auto& [name, source] : sources.items()) types.insert(source["type"].get<std::string>());
  const std::string sentence = fmt::format("{} of these {} types", types.size(), model_types().size());
  EXPECT_NE(family_references::document().find(sentence), std::string::npos) << sentence;
}

TEST(PublishedFiles, TheDocumentNamesTheTypesOfWhichNoneIsTheMakersFileAsItIs) {
  std::set<std::string> types, untouched;
  const json sources = read_json(folder() / "published/sources.json");
  for (const auto& [name, source] : sources.items()) {
    types.insert(source["type"].get<std::string>());
    if (!source.contains("form")) untouched.insert(source["type"].get<std::string>());
  }
  std::erase_if(types, [&](const std::string& type) { return untouched.contains(type); });
  const std::string sentence = fmt::format("is the best that was found of {}.", fmt::join(types, ", "));
  EXPECT_NE(family_references::document().find(sentence), std::string::npos) << sentence;
}

TEST(PublishedFiles, TheDocumentNamesTheTypesOfWhichTheCopysRepositoryIsNotKnown) {
  std::set<std::string> types;
  const json sources = read_json(folder() / "published/sources.json");
  for (const auto& [name, source] : sources.items())
    if (source.value("form", "").find("a public repository whose name is not known") != std::string::npos) {
      EXPECT_TRUE(source["repository"].is_null()) << name;
      types.insert(source["type"].get<std::string>());
    }
  const std::string sentence =
      fmt::format("The repository that holds the copy is not known of {}.", fmt::join(types, ", "));
  EXPECT_NE(family_references::document().find(sentence), std::string::npos) << sentence;
}

// Fields that makers write and transformers does not have, or under other names.
TEST(PublishedFiles, MakersOwnFieldsAreRead) {
  const auto read = [](const char* text) { return read_config(json::parse(text), "config.json"); };
  // Xiaomi's patterns of windows and experts, by 0 and 1.
  const Model mimo = read(R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 4, "hidden_size": 64,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 24, "v_head_dim": 16, "intermediate_size": 96,
    "vocab_size": 128, "layernorm_epsilon": 1e-3, "swa_rope_theta": 500, "sliding_window": 16,
    "sliding_window_size": 16, "attention_chunk_size": 16, "swa_num_attention_heads": 8, "swa_num_key_value_heads": 4,
    "swa_head_dim": 24, "swa_v_head_dim": 16, "hybrid_layer_pattern": [0, 1, 0, 1], "moe_layer_freq": [0, 0, 1, 1],
    "moe_intermediate_size": 32, "n_routed_experts": 4, "n_shared_experts": null, "num_experts_per_tok": 2,
    "routed_scaling_factor": null, "add_swa_attention_sink_bias": true, "add_full_attention_sink_bias": false})");
  for (std::size_t i = 0; i < 4; ++i) {
    const Attention& attention = *find<Attention>(mimo.layers[i]);
    EXPECT_EQ(attention.window, i % 2 == 1 ? 16 : 0) << i;
    EXPECT_EQ(attention.n_kv_heads, i % 2 == 1 ? 4 : 2) << i;
    EXPECT_EQ(find<Mixture>(mimo.layers[i]) != nullptr, i >= 2) << i;
  }
  EXPECT_EQ(find<Attention>(mimo.layers[1])->rope->theta, 500);
  EXPECT_EQ(mimo.final_norm->epsilon, 1e-3);
  // NVIDIA's pattern and names of 2025.
  const Model nemotron = read(R"({"model_type": "nemotron_h", "num_hidden_layers": 4, "hidden_size": 64,
    "hybrid_override_pattern": "M-*-", "num_attention_heads": 4, "num_query_groups": 2, "attention_head_dim": 16,
    "mamba_num_groups": 2, "n_groups": 2, "mamba_state_dim": 8, "mamba_num_heads": 4, "mamba_head_dim": 16,
    "intermediate_size": 96, "vocab_size": 128, "rms_norm_eps": 1e-5, "time_step_rank": 256})");
  EXPECT_EQ(find<Attention>(nemotron)->n_kv_heads, 2);
  EXPECT_EQ(find<Attention>(nemotron)->d_head, 16);
  EXPECT_EQ(find<Recurrence>(nemotron)->n_groups, 2);
  EXPECT_EQ(find<Recurrence>(nemotron)->d_state, 8);
  // Llama 4 Scout: both ends of Llama 3's blend are the same.
  const Model scout = read(R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64,
    "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 128, "rope_scaling": {"factor": 16.0,
    "high_freq_factor": 1.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
    "rope_type": "llama3"}})");
  EXPECT_EQ(find<Attention>(scout)->rope->high_frequency_factor, 1);
}

constexpr std::pair<const char*, const char*> presets_and_files[] = {
    {"glm-4.5-air", "glm4_moe"},
    {"minimax-m2", "minimax_m2"},
    {"llama-4-maverick", "llama4"},
    {"olmoe-1b-7b", "olmoe"},
    {"hunyuan-a13b", "hunyuan_v1_moe"},
    {"lfm2-8b-a1b", "lfm2_moe"},
    {"smollm3-3b", "smollm3"},
    {"granite-4.0-h-small", "granitemoehybrid"},
    {"nemotron-3-super-120b-a12b", "nemotron_3_super"},
    {"deepseek-v3", "deepseek_v3"},
    {"kimi-k2", "kimi_k2"},
    {"mimo-v2-flash", "mimo_v2_flash"},
    {"llama-4-scout", "llama4_scout"},
    {"gpt-oss-20b", "gpt_oss"},
    {"mixtral-8x7b", "mixtral"},
    {"ernie-4.5-21b-a3b", "ernie4_5_moe"},
    {"falcon-h1-7b", "falcon_h1"},
    {"exaone-4.0-32b", "exaone4"},
    {"olmo3-32b", "olmo3"},
    {"qwen3-next-80b-a3b", "qwen3_next"},
    {"qwen3.5-9b", "qwen3_5"},
    {"qwen3.5-35b-a3b", "qwen3_5_moe"},
    {"mpt-7b", "mpt"},
    {"seed-oss-36b", "seed_oss"},
    {"apertus-8b", "apertus"},
    {"glm-4-9b", "glm4"},
    {"solar-open-100b", "solar_open"},
    {"hunyuan-7b", "hunyuan_v1_dense"},
    {"trinity-mini", "afmoe"},
    {"aria", "aria"},
    {"a.x-k1", "axk1"},
    {"bamba-9b", "bamba"},
    {"biogpt", "biogpt"},
    {"codegen-350m", "codegen"},
    {"command-r7b", "cohere2"},
    {"north-mini-code", "cohere2_moe"},
    {"cwm-32b", "cwm"},
    {"deepseek-v3.2", "deepseek_v32"},
    {"deepseek-v4-flash", "deepseek_v4"},
    {"diffllama-1b", "diffllama_1b"},
    {"doge-160m", "doge_160m"},
    {"dots.llm1", "dots1"},
    {"ernie-4.5-0.3b", "ernie4_5"},
    {"exaone-4.5-33b", "exaone4_5"},
    {"k-exaone-236b-a23b", "exaone_moe"},
    {"flexolmo-7x7b", "flex_olmo"},
    {"gemma-3n-e4b", "gemma3n"},
    {"gemma-4-31b", "gemma4"},
    {"gemma-4-e2b", "gemma4_e2b"},
    {"gemma-4-26b-a4b", "gemma4_moe"},
    {"gemma-4-12b", "gemma4_unified"},
    {"glm-4-9b-hf", "glm"},
    {"glm-4.7-flash", "glm4_moe_lite"},
    {"glm-5", "glm5"},
    {"santacoder", "gpt_bigcode"},
    {"gpt-neox-japanese-2.7b", "gpt_neox_japanese"},
    {"granite-swash-2b", "granite_swa"},
    {"granite-3.1-1b-a400m", "granitemoe"},
    {"helium-1-2b", "helium"},
    {"hy3-preview", "hy_v3"},
    {"hyperclovax-seed-think-14b", "hyperclovax"},
    {"inkling", "inkling"},
    {"jais-2-8b", "jais2"},
    {"jetmoe-8b", "jetmoe"},
    {"kimi-linear-48b-a3b", "kimi_linear"},
    {"laguna-xs.2", "laguna"},
    {"lfm2-1.2b", "lfm2"},
    {"mamba-130m", "mamba"},
    {"mamba2-780m", "mamba2"},
    {"mellum2-12b-a2.5b", "mellum"},
    {"minicpm3-4b", "minicpm3"},
    {"minimax-text-01", "minimax"},
    {"minimax-m3", "minimax_m3"},
    {"devstral-small-2-24b", "ministral3"},
    {"mistral-small-4-119b", "mistral4"},
    {"nanochat-d32", "nanochat"},
    {"nemotron-mini-4b", "nemotron"},
    {"olmo-1b", "olmo"},
    {"olmo-7b", "olmo_7b"},
    {"olmo-hybrid-7b", "olmo_hybrid"},
    {"openai-gpt", "openai_gpt"},
    {"persimmon-8b", "persimmon"},
    {"phi-3.5-moe", "phimoe"},
    {"qwen1.5-moe-a2.7b", "qwen2_moe"},
    {"recurrentgemma-2b", "recurrent_gemma"},
    {"step-3.5-flash", "step3p5"},
    {"vaultgemma-1b", "vaultgemma"},
    {"xglm-564m", "xglm"},
    {"youtu-llm-2b", "youtu"},
    {"zaya1-8b", "zaya"},
    {"longcat-flash", "longcat_flash"},
    {"zamba-7b", "zamba"},
    {"zamba2-1.2b", "zamba2"},
    {"north-micro-vision", "cohere_compass"},
    {"granite-swash-3b", "granitemoe_swa"},
    {"qwen3-vl-8b", "qwen3_vl"},
    {"qwen3-vl-30b-a3b", "qwen3_vl_moe"},
    {"qwen2.5-vl-7b", "qwen2_5_vl"},
    {"kimi-k2.5", "kimi_k25"},
    {"glm-4.1v-9b", "glm4v"},
    {"glm-4.5v", "glm4v_moe"},
    {"qwen3-coder-480b-a35b", "qwen3_coder"},
    {"qwen3.5-397b-a17b", "qwen3_5_moe_397b"},
    {"glm-4.5", "glm4_moe_355b"},
    {"glm-5.2", "glm_moe_dsa"},
    {"mamba-2.8b", "mamba_2_8b"},
    {"lfm2-24b-a2b", "lfm2_moe_24b"},
    {"deepseek-v4-pro", "deepseek_v4_pro"},
    {"apertus-70b", "apertus_70b"},
};

// Presets have the fields that matter; what is left of the whole file must be the same network.
TEST(PublishedFiles, PresetsAreTheNetworksOfTheirFiles) {
  for (const auto& [preset, file] : presets_and_files) {
    Model model = load_model(preset);
    const Model whole = published(file);
    model.name = whole.name;
    model.notes = whole.notes;
    EXPECT_EQ(model, whole) << preset;
  }
}

// Of every preset its parameters are known from elsewhere: of the files those that people state, of the others the
// published numbers of parameters_test.cpp, or PyTorch's of tests/data/parameters.json.
TEST(PublishedFiles, WhatIsStatedOfEachPresetIsKnown) {
  const json sources = read_json(folder() / "published/sources.json");
  const json golden = read_json(std::filesystem::path(project_folder()) / "tests/data/parameters.json");
  for (const auto& [preset, file] : presets_and_files)
    EXPECT_TRUE(golden.contains(preset) || !sources[file]["stated"].is_null()) << preset;
}

// What a hub's file holds beyond the model, where its table of elements was published, and else the sum of the tensors
// that the code which loads these files has (vLLM a014e35f; src/model/read_predictors.cpp names the files), by hand.
TEST(PublishedFiles, LayersThatPredictFurtherTokensAreCountedApart) {
  const std::pair<const char*, std::int64_t> all[] = {
      // Hugging Face's totals of elements: 680,571,043,840 of 8 bits and 3,918,786,560 of 16, embedding and head twice
      {"deepseek_v3", 680571043840 + 3918786560 - 671026404352 - 2 * 129280ll * 7168},
      // 753,329,940,480, of which 19,456 are the corrections of routers
      {"glm_moe_dsa", 753329940480 - 19456 - 743377000704},
      {"glm5", 9952920320},
      // 110,468,824,832, embedding and head twice, with corrections of 46 routers
      {"glm4_moe", 110468824832 - 46 * 128 - 106852245504 - 2 * 151552ll * 4096},
      // 9,653,104,368 and 35,951,822,704, with vision models of 456,010,480 and, as its last matrix is half as high and
      // its bias half as long, 446,571,248
      {"qwen3_5", 9653104368 - 456010480 - 8953803264},
      {"qwen3_5_moe", 35951822704 - 446571248 - 34660610688},
      // 358,337,791,296, embedding and head twice, with corrections of 90 routers
      {"glm4_moe_355b", 358337791296 - 90 * 160 - 352797814784 - 2 * 151552ll * 5120},
      {"qwen3_5_moe_397b", 403397928944 - 456010480 - 396346350336},
      {"hy_v3", 3752612096},  // "3.8B MTP layer parameters" (its model card)
      {"deepseek_v32", 11624027392},
      {"deepseek_v4", 6610048635},
      {"ernie4_5_moe", 123217920},
      {"exaone4_5", 536110336},
      {"exaone_moe", 528513280},
      {"glm4_moe_lite", 643706112},
      {"inkling", 648118529},
      {"minimax_m3", 7491582464},
      {"nemotron_3_super", 2942324736},
      // Files that say nothing of such layers, that there are none, or of those that nobody has published.
      {"mimo_v2_flash", 0},
      {"kimi_k2", 0},
      {"minimax_m2", 0},
  };
  Workload one;
  one.tokens = 1;
  for (const auto& [file, parameters] : all) {
    const Model model = published(file);
    const Ledger ledger = count(model, one);
    EXPECT_EQ(ledger.prediction.total, parameters) << file;
    const bool said = !model.notes.empty() && model.notes.back().ends_with("counted apart");
    EXPECT_EQ(said, parameters > 0) << file;
  }
  EXPECT_EQ(published("minimax_m2").notes.back(),
            "3 further layers (num_mtp_modules), which predict tokens after the next, are left out and not counted");
}

// Qwen's and Xiaomi's files have such layers without a word in config.json: what they hold is what a word would add.
TEST(PublishedFiles, LayersThatPredictFurtherTokensAreThoseThatFilesHoldUnsaid) {
  const auto with_one = [](const char* file) {
    json config = read_json(folder() / "published" / (std::string(file) + ".json"));
    config["num_nextn_predict_layers"] = 1;
    Workload one;
    one.tokens = 1;
    return count(read_config(config, file), one);
  };
  const Ledger qwen = with_one("qwen3_next");
  EXPECT_EQ(qwen.parameter_totals.total + qwen.prediction.total, 81324862720);  // of elements on the hub
  EXPECT_EQ(with_one("mimo_v2_flash").prediction.total, 329273408);             // "0.33B per block" (its model card)
}

TEST(PublishedFiles, LayersThatPredictFurtherTokensChangeWithTheStack) {
  const Model glm = published("glm4_moe");
  EXPECT_EQ(modify(glm, {}), glm);
  Changes half;
  half.experts = 64;
  half.layers = 12;
  Workload one;
  one.tokens = 1;
  const Ledger ledger = count(modify(glm, half), one);
  // 64 experts less, with their rows of the router
  EXPECT_EQ(ledger.prediction.total, 2375059456 - 64 * (3 * 4096ll * 1408 + 4096));
  EXPECT_EQ(ledger.prediction.active, 2375059456 - 64 * 4096ll - (128 - 8) * 3 * 4096ll * 1408);
}

}  // namespace
}  // namespace reckon
