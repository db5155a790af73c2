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
                                   "axk2",
                                   "bamba",
                                   "biogpt",
                                   "codegen",
                                   "cohere2",
                                   "cohere2_moe",
                                   "cohere_compass_text",
                                   "cwm",
                                   "dbrx",
                                   "deepseek_v32",
                                   "deepseek_v4",
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
                                   "glm_moe_dsa",
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
                                   "inkling_text",
                                   "jais2",
                                   "jamba",
                                   "jetmoe",
                                   "laguna",
                                   "lfm2",
                                   "lfm2_moe",
                                   "llama4_text",
                                   "longcat_flash",
                                   "mamba",
                                   "mamba2",
                                   "mellum",
                                   "mimo_v2_flash",
                                   "minicpm3",
                                   "minimax",
                                   "minimax_m2",
                                   "minimax_m3_vl_text",
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
                                   "youtu",
                                   "zamba",
                                   "zamba2",
                                   "zaya"};
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
  const auto add = [&](std::int64_t width, std::int64_t channels) {
    if (width > 0) sum += 2 * batch * (width - 1) * width * channels;
  };
  for (const Layer& layer : model.layers) {
    for_each<Recurrence>(layer, [&](const Recurrence& r) { add(r.conv_width, r.n_heads * r.d_head); });
    for_each<Attention>(layer, [&](const Attention& a) { add(a.conv_width, a.n_kv_heads * (a.d_head + a.d_value)); });
    for_each<Sublayer>(layer, [&](const Sublayer& s) { add(s.conv_width, model.d_model); });
  }
  return sum;
}

// transformers lets Zaya's convolution of channels run over the tokens before the text that the one of heads reads, and
// makes the delayed values of a token of zeros.
std::int64_t flops_before_the_text(const Model& model, std::int64_t batch) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    for_each<Attention>(layer, [&](const Attention& a) {
      if (!a.convolved) return;
      const std::int64_t channels = (a.n_heads + a.n_kv_heads) * a.d_head;
      sum += 2 * batch * (a.convolved->head_width - 1) * channels * a.convolved->channel_width;
      sum += 2 * batch * model.d_model * (a.n_kv_heads * a.d_value / 2);
    });
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

// transformers attends to all keys, with a mask, and its indexers score all of them; the sum over an indexer's heads is
// a product. Here a query attends to what is chosen, and what may not be seen is not scored.
std::int64_t flops_of_unchosen_keys(const Model& model, std::int64_t batch, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    for_each<Attention>(layer, [&](const Attention& a) {
      if (!a.indexer || a.shared_key) return;
      const Indexer& i = *a.indexer;
      const std::int64_t all = tokens * tokens, seen = tokens * (tokens + 1) / 2;
      std::int64_t chosen = 0;
      for (std::int64_t p = 0; p < tokens; ++p)
        chosen += (std::min(i.top, p / i.block + 1) - 1) * i.block + p % i.block + 1;
      sum += 2 * batch * a.n_heads * (a.d_head + a.d_value) * (all - chosen);
      if (i.from == 0) sum += 2 * batch * i.n_heads * (i.d_head * (all - seen) + (i.summed ? all : 0));
    });
  return sum;
}

// transformers attends to all keys and all entries, with a mask, and its indexers score all entries; here a query
// attends to its window and to the entries that it sees or that are chosen, and indexers score those that are seen.
std::int64_t flops_of_unseen_entries(const Model& model, std::int64_t batch, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const Layer& layer : model.layers)
    for_each<Attention>(layer, [&](const Attention& a) {
      if (!a.shared_key || a.shared_key->rate == 0 || tokens < a.shared_key->rate) return;
      const std::int64_t rate = a.shared_key->rate, entries = tokens / rate;
      std::int64_t pairs = 0, seen = 0;
      for (std::int64_t p = 0; p < tokens; ++p) {
        const std::int64_t here = (p + 1) / rate;
        pairs += std::min(p + 1, a.window) + (a.indexer ? std::min(a.indexer->top, here) : here);
        seen += here;
      }
      sum += 4 * batch * a.n_heads * a.d_head * (tokens * (tokens + entries) - pairs);
      if (a.indexer) sum += 2 * batch * a.indexer->n_heads * a.indexer->d_head * (tokens * entries - seen);
    });
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
    if (!entry.contains("flops") || !entry["flops"].is_object()) continue;
    const json& flops = entry["flops"];
    const std::set<std::string> known{"axk2",        "deepseek_v32",  "deepseek_v4",        "glm_moe_dsa", "llama4",
                                      "llama4_text", "minimax_m3_vl", "minimax_m3_vl_text", "zaya"};
    if (!all["note"].is_null() && !known.contains(GetParam())) continue;  // what transformers' counter leaves out
    Workload workload = workload_of(Phase::forward);
    workload.batch = flops["batch"];
    workload.tokens = flops["tokens"];
    auto expected = flops["forward"].get<std::int64_t>();  // without the product of RoPE's frequencies
    expected -= flops_of_padding(model, workload.batch);
    expected -= flops_of_unseen_entries(model, workload.batch, workload.tokens);
    expected -= flops_before_the_text(model, workload.batch);
    expected -= flops_of_second_scores(model, workload.batch, workload.tokens);
    // Its product of RoPE's frequencies stands in another class than the others', and is among the rest.
    if (GetParam() == "lfm2_moe") expected -= workload.tokens * first_attention(model).d_head;
    expected -= flops_of_unchosen_keys(model, workload.batch, workload.tokens);
    if (GetParam() == "llama4_text" || GetParam() == "llama4")
      expected -= flops_of_idle_experts(model, workload.tokens * workload.batch);
    EXPECT_EQ(count(model, workload).forward.matmul, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyConfigs, testing::ValuesIn(found("configs")),
                         [](const auto& entry) { return family_references::test_name(entry.param); });

}  // namespace
}  // namespace reckon
