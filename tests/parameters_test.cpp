// The number of parameters: against PyTorch for 30 configurations, against published numbers for the presets, and by
// hand for changes.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/load.h"
#include "model/modify.h"
#include "model/read.h"
#include "paths.h"

namespace reckon {
namespace {

using nlohmann::json;

json golden() { return json::parse(std::ifstream(project_folder() + "/tests/data/parameters.json")); }

// tests/data/parameters.json was made by building each model with transformers 5.17 and adding up its parameters.
TEST(Parameters, EqualTransformersForEveryGoldenConfiguration) {
  const json all = golden();
  ASSERT_EQ(all.size(), 30u);
  for (const auto& [name, entry] : all.items())
    EXPECT_EQ(count_parameters(read_config(entry["config"], name)), entry["parameters"].get<std::int64_t>()) << name;
}

TEST(Parameters, OfAPresetEqualItsGoldenConfiguration) {
  const json all = golden();
  for (const auto& [name, entry] : all.items())
    EXPECT_EQ(count_parameters(load_model(name)), entry["parameters"].get<std::int64_t>()) << name;
}

struct Published {
  const char* name;
  std::int64_t parameters;
};

// As published with the models: the total of their safetensors files on the Hugging Face hub, less a head that is
// stored a second time though it is tied (Qwen3 0.6B and 1.7B, Falcon) and less the layer for multi-token prediction
// (DeepSeek-R1); for Pythia the table of Biderman et al. 2023, for GPT-NeoX that of Black et al. 2022.
TEST(Parameters, EqualThePublishedNumbers) {
  const Published all[] = {
      {"llama-7b", 6738415616},          {"llama-13b", 13015864320},
      {"llama-33b", 32528943616},        {"llama-65b", 65285660672},
      {"llama-2-13b", 13015864320},      {"llama-3-8b", 8030261248},
      {"llama-3-70b", 70553706496},      {"llama-3.1-70b", 70553706496},
      {"llama-3.1-405b", 405853388800},  {"llama-3.2-3b", 3212749824},
      {"llama-3.3-70b", 70553706496},    {"tinyllama-1.1b", 1100048384},
      {"smollm2-135m", 134515008},       {"smollm2-360m", 361821120},
      {"smollm2-1.7b", 1711376384},      {"mistral-7b-v0.3", 7248023552},
      {"mistral-nemo-12b", 12247782400}, {"mistral-small-24b", 23572403200},
      {"mixtral-8x22b", 140620634112},   {"qwen2.5-1.5b", 1543714304},
      {"qwen2.5-3b", 3085938688},        {"qwen2.5-14b", 14770033664},
      {"qwen2.5-32b", 32763876352},      {"qwen2.5-72b", 72706203648},
      {"qwen3-1.7b", 1720574976},        {"qwen3-4b", 4022468096},
      {"qwen3-8b", 8190735360},          {"qwen3-14b", 14768307200},
      {"qwen3-32b", 32762123264},        {"qwen3-235b-a22b", 235093634560},
      {"gemma-7b", 8537680896},          {"gemma-2-9b", 9241705984},
      {"gemma-2-27b", 27227128320},      {"gemma-3-270m", 268098176},
      {"gemma-3-1b", 999885952},         {"phi-1.5", 1418270720},
      {"phi-3-medium", 13960238080},     {"phi-4", 14659507200},
      {"olmo2-1b", 1484916736},          {"olmo2-13b", 13716198400},
      {"olmo2-32b", 32234279936},        {"pythia-70m", 70426624},
      {"pythia-410m", 405334016},        {"pythia-1b", 1011781632},
      {"pythia-1.4b", 1414647808},       {"pythia-2.8b", 2775208960},
      {"pythia-6.9b", 6857302016},       {"pythia-12b", 11846072320},
      {"gpt-neox-20b", 20554567680},     {"gpt-neo-125m", 125198592},
      {"gpt-neo-1.3b", 1315575808},      {"opt-350m", 331196416},
      {"opt-1.3b", 1315758080},          {"opt-2.7b", 2651596800},
      {"opt-6.7b", 6658473984},          {"opt-13b", 12853473280},
      {"opt-30b", 29974540288},          {"bloom-1b1", 1065314304},
      {"bloom-1b7", 1722408960},         {"bloom-3b", 3002557440},
      {"bloom-7b1", 7069016064},         {"bloom-176b", 176247271424},
      {"falcon-40b", 41303293952},       {"falcon-rw-1b", 1311625216},
      {"starcoder2-7b", 7173923840},     {"starcoder2-15b", 15957889024},
      {"stablelm-3b-4e1t", 2795443200},  {"stablelm-2-1.6b", 1644515328},
      {"command-r", 34980831232},        {"command-r-plus", 103810674688},
      {"granite-3.0-2b", 2533531648},    {"granite-3.0-8b", 8170848256},
      {"deepseek-v2", 235741434880},     {"deepseek-r1", 671026404352},
  };
  for (const Published& model : all)
    EXPECT_EQ(count_parameters(load_model(model.name)), model.parameters) << model.name;
}

// What makers say of their models, in billions and in their own digits, the last of which they round or cut off: in the
// READMEs of MoonshotAI/Kimi-K2, zai-org/GLM-4.5, MiniMax-AI/MiniMax-M2, XiaomiMiMo/MiMo-V2-Flash, databricks/dbrx,
// Tencent-Hunyuan/Hunyuan-A13B, NVIDIA-NeMo/Nemotron, LG-AI-EXAONE/EXAONE-4.0 and tiiuae/Falcon-H1 on GitHub, in Meta's
// models/llama4/MODEL_CARD.md, in transformers' pages of olmoe, lfm2_moe, ernie4_5_moe, qwen3_next, gemma3 and jamba,
// in IBM's entry of the AWS marketplace (Granite), and in the model's name (SmolLM3, Olmo 3.1, Qwen3.5, MPT, Falcon
// Mamba, Apertus, GLM-4, Solar Open). Without layers for multi-token prediction.
// Scout's 109B are with its vision part of 0.9B.
TEST(Parameters, AreThoseThatMakersAnnounceInTheirDigits) {
  struct Announced {
    const char* name;
    double billions, digit;  // the last digit's worth
  };
  const Announced all[] = {
      {"kimi-k2", 1000, 100},         {"glm-4.5-air", 106, 1},
      {"minimax-m2", 230, 10},        {"llama-4-scout", 109 - 0.9, 1},
      {"llama-4-maverick", 400, 1},   {"olmoe-1b-7b", 7, 1},
      {"mimo-v2-flash", 309, 1},      {"dbrx", 132, 1},
      {"hunyuan-a13b", 80, 1},        {"nemotron-3-nano-30b-a3b", 31.6, 0.1},
      {"lfm2-8b-a1b", 8.3, 0.1},      {"smollm3-3b", 3, 1},
      {"ernie-4.5-21b-a3b", 21, 1},   {"falcon-h1-7b", 7, 1},
      {"exaone-4.0-32b", 32, 1},      {"olmo3-32b", 32, 1},
      {"qwen3-next-80b-a3b", 80, 1},  {"qwen3.5-9b", 9, 1},
      {"qwen3.5-27b", 27, 1},         {"qwen3.5-35b-a3b", 35, 1},
      {"qwen3.5-122b-a10b", 122, 1},  {"mpt-7b", 7, 1},
      {"apertus-8b", 8, 1},           {"glm-4-9b", 9, 1},
      {"solar-open-100b", 100, 10},   {"gemma-3-27b", 27, 1},
      {"jamba-1.5-mini", 52, 1},      {"falcon-mamba-7b", 7, 1},
      {"granite-4.0-h-small", 32, 1}, {"nemotron-3-super-120b-a12b", 120.6, 0.1},
  };
  for (const Announced& model : all) {
    const double found = static_cast<double>(count_parameters(load_model(model.name))) / 1e9;
    const bool rounded = std::abs(found - model.billions) <= model.digit / 2;
    const bool cut = found >= model.billions && found < model.billions + model.digit;
    EXPECT_TRUE(rounded || cut) << model.name << ": " << found;
  }
}

// transformers' own totals for the whole files of these presets (one_published in scripts/references.py); those of the
// other presets of new types are in tests/data/families/published.
TEST(Parameters, EqualTransformersForTheWholeFile) {
  const Published all[] = {
      {"kimi-k2", 1026408209408},
      {"llama-4-scout", 107769861120},
      {"dbrx", 131596523520},
      {"mimo-v2-flash", 308778768832},
  };
  for (const Published& model : all)
    EXPECT_EQ(count_parameters(load_model(model.name)), model.parameters) << model.name;
}

// What the indexes of their published weights say (tests/data/families/published/sources.json).
TEST(Parameters, EqualTheIndexesOfTheirFiles) {
  const Published all[] = {{"seed-oss-36b", 36151104512}, {"hunyuan-7b", 7504568320}};
  for (const Published& model : all)
    EXPECT_EQ(count_parameters(load_model(model.name)), model.parameters) << model.name;
}

// By hand, d = d_model, V = vocabulary:
//   mini-gpt        512·64 + 2·(4·64² + 2·64·256 + 2·64) + 64
//   mini-gpt-small  512·32 + 2·(4·32² + 2·32·128 + 2·32) + 32
//   cs336-gpt2-*    2·V·d + L·(4·d² + 3·d·4d + 2·d) + d, e.g. xl: V = 50257, d = 1600, L = 48
TEST(Parameters, EqualTheSumsDoneByHand) {
  EXPECT_EQ(count_parameters(load_model("mini-gpt")), 131'392);
  EXPECT_EQ(count_parameters(load_model("mini-gpt-small")), 41'120);
  EXPECT_EQ(count_parameters(load_model("cs336-gpt2-small")), 190'460'160);
  EXPECT_EQ(count_parameters(load_model("cs336-gpt2-medium")), 505'629'696);
  EXPECT_EQ(count_parameters(load_model("cs336-gpt2-large")), 1'072'469'760);
  EXPECT_EQ(count_parameters(load_model("cs336-gpt2-xl")), 2'127'057'600);
}

// Brown et al. 2020, table 2.1, gives rounded numbers: V·d + 2048·d + L·(12·d² + 13·d) + 2·d is within 2% of each.
TEST(Parameters, AreThoseOfTheGpt3PaperWithinItsRounding) {
  const std::pair<const char*, double> all[] = {{"gpt3-125m", 125e6}, {"gpt3-350m", 350e6}, {"gpt3-760m", 760e6},
                                                {"gpt3-1.3b", 1.3e9}, {"gpt3-2.7b", 2.7e9}, {"gpt3-6.7b", 6.7e9},
                                                {"gpt3-13b", 13e9},   {"gpt3-175b", 175e9}};
  for (const auto& [name, published] : all)
    EXPECT_NEAR(static_cast<double>(count_parameters(load_model(name))) / published, 1.0, 0.02) << name;
  EXPECT_EQ(count_parameters(load_model("gpt3-1.3b")), 1'315'723'264);
  EXPECT_EQ(count_parameters(load_model("gpt3-13b")), 12'853'386'240);
  EXPECT_EQ(count_parameters(load_model("gpt3-175b")), 174'604'259'328);
}

template <class Set>
Count added(const char* preset, const Set& set) {
  Changes changes;
  set(changes);
  const Model model = load_model(preset);
  return count_parameters(modify(model, changes)) - count_parameters(model);
}

TEST(Parameters, ChangeByWhatAModifierAddsOrTakes) {
  // gpt2: 12 layers, d = 768, d_ff = 3072, V = 50257
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.qkv_bias = false; }), -12 * 3 * 768);  // 124,412,160 remain
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.bias = false; }), -(12 * (4 * 768 + 3072 + 768 + 2 * 768) + 768));
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.tied = false; }), 50257 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.positions = Changes::PositionKind::rope; }), -1024 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.norm = Norm::Kind::rms; }), -25 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.norm_position = Changes::NormPosition::post; }), -2 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.layers = 13; }), 12 * 768 * 768 + 13 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.context = 2048; }), 1024 * 768);
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.ffn = Changes::FeedForwardForm::swiglu; }), 12 * (768 * 3072 + 3072));
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.kv_heads = 1; }), -12 * 2 * (768 * 704 + 704));
  EXPECT_EQ(added("gpt2",
                  [](Changes& c) {
                    c.experts = 4;
                    c.active_experts = 2;
                  }),
            12 * (3 * (2 * 768 * 3072 + 3072 + 768) + 4 * 768));
  EXPECT_EQ(added("gpt2", [](Changes& c) { c.cross_attention = true; }), 12 * (4 * 768 * 768 + 4 * 768));
  // mini-gpt: 2 layers, d = 64, d_ff = 256, V = 512, context 32
  EXPECT_EQ(added("mini-gpt", [](Changes& c) { c.bias = true; }), 2 * (256 + 320));
  EXPECT_EQ(added("mini-gpt", [](Changes& c) { c.cross_attention = true; }), 2 * 4 * 64 * 64);
  EXPECT_EQ(added("mini-gpt", [](Changes& c) { c.positions = Changes::PositionKind::learned; }), 32 * 64);
  EXPECT_EQ(added("mini-gpt", [](Changes& c) { c.norm = Norm::Kind::layer; }), 0);
  EXPECT_EQ(added("mini-gpt", [](Changes& c) { c.window = 8; }), 0);
}

}  // namespace
}  // namespace reckon
