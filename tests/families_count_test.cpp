// Random configs of every model type of tests/data/families: their parameters, and the FLOPs of forward and backward
// passes, as transformers' own model code has them (scripts/references.py).
#include <gtest/gtest.h>
#include <reckon/reckon.h>

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
  int number = 0, held = 0, held_in_flops = 0;
  for (const json& entry : all["configs"]) {
    SCOPED_TRACE(std::to_string(number++) + ": " + entry["config"].dump());
    // transformers' own defaults of glm4_moe give a head 42.67 elements, of which it rotates 22 by 21 angles.
    if (GetParam() == "glm4_moe" && entry["config"]["num_attention_heads"] == 96) continue;
    // …and of these they say no number of experts a token takes, or give a head 42.67 elements again.
    if (GetParam() == "deepseek_v2" && entry["config"]["num_experts_per_tok"].is_null()) continue;
    if (GetParam() == "glm4v_moe" && entry["config"]["text_config"]["num_attention_heads"] == 96) continue;
    ++held;
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
    // PyTorch cannot give the gradients of some of Doge's mixtures, and FLOPs of large models are not counted.
    const bool counted = entry.contains("flops") && entry["flops"].is_object();
    const bool runs = entry["kind"] == "small" && (counted || !(GetParam() == "doge" && entry["config"]["is_moe"]));
    ASSERT_EQ(counted, runs);
    if (!runs) continue;
    ++held_in_flops;
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
  EXPECT_GE(held, 14);
  EXPECT_GE(held_in_flops, 12);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyConfigs, testing::ValuesIn(found("configs")),
                         [](const auto& entry) { return family_references::test_name(entry.param); });

}  // namespace
}  // namespace reckon
