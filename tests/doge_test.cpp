// Doge, of which transformers gives no small model: what the cpu computes in one piece, in chunks and token by token
// against the reference in float64, with masks that hide keys and with experts by product keys.
#include <gtest/gtest.h>
#include <reckon/reckon.h>
#include <reckon/run.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/read.h"
#include "model/sublayers.h"
#include "run/engine.h"
#include "run/verify.h"
#include "run/weights.h"

namespace reckon {
namespace {

Model small_doge(bool mixture, int window) {
  nlohmann::json config = {{"model_type", "doge"},       {"hidden_size", 24},        {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},   {"num_key_value_heads", 2}, {"intermediate_size", 20},
                           {"vocab_size", 43},           {"keep_window_size", 4},    {"is_moe", mixture},
                           {"num_experts", 16},          {"num_experts_per_tok", 3}, {"max_position_embeddings", 64},
                           {"tie_word_embeddings", true}};
  if (window > 0) config["sliding_window"] = window;
  return read_config(config, "config.json");
}

std::vector<float> logits(const Model& model, Device device, std::int64_t chunk) {
  EngineOptions options;
  options.device = device;
  options.chunk = chunk;
  options.capacity = 64;
  options.threads = 2;
  Engine engine(model, Weights::random(model, 3, DType::float32), options);
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 23; ++i) ids.push_back(i * 7 % 43);
  Session session = engine.session();
  const auto all = session.run(ids, Logits::all);
  return {all.begin(), all.end()};
}

TEST(Doge, TheCpuComputesWhatTheReferenceDoes) {
  for (const bool mixture : {false, true})
    for (const int window : {0, 9}) {
      const Model model = small_doge(mixture, window);
      const std::vector<float> expected = logits(model, Device::reference64, 512);
      for (const std::int64_t chunk : {512, 5, 1}) {
        const std::vector<float> found = logits(model, Device::cpu, chunk);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], expected[i], 1e-5) << "window " << window << ", chunk " << chunk << ", logit " << i;
      }
    }
}

TEST(Doge, HidesKeysBeyondThoseThatAreKept) {
  const Model model = small_doge(false, 0);
  Model all = model;
  for (Layer& layer : all.layers) find<Attention>(layer)->dynamic_mask->keep = 64;
  const std::vector<float> some = logits(model, Device::cpu, 512), whole = logits(all, Device::cpu, 512);
  double first = 0, later = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    double& worst = i < 4 * 43 ? first : later;  // 4 tokens see all of the keys that there are
    worst = std::max(worst, std::fabs(static_cast<double>(some[i] - whole[i])));
  }
  EXPECT_EQ(first, 0.0);
  EXPECT_GT(later, 0.0);
}

TEST(Doge, MeasuresWhatItPredicts) {
  for (const bool mixture : {false, true}) {
    const Model model = small_doge(mixture, 0);
    VerifyOptions options;
    options.tokens = 20;
    options.steps = 3;
    options.batch = 2;
    const Verification v = verify(model, Weights::random(model, 3, DType::float32), options);
    for (const Check& check : v.checks)
      EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of "
                                 << to_string(check.lowered);
    for (const std::string& finding : v.findings) ADD_FAILURE() << finding;
  }
}

}  // namespace
}  // namespace reckon
