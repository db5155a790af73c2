// Keys and values that are kept in 8 bits: what they cost, and what they lose.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "run/engine.h"
#include "paths.h"
#include "program_fixture.h"
#include "run/verify.h"
#include "small_models.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;

// Heads of 32, keys of grouped queries; every second layer sees 9 tokens.
Model wide_heads() {
  Model model = testing_models::changed(testing_models::small_llama(), [](Layer& layer) {
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 32;
    find<Attention>(layer)->scale = 1 / std::sqrt(32.0);
  });
  find<Attention>(model.layers.front())->window = 9;
  model.context = 40;
  return model;
}

std::vector<float> logits_of(DType cache, const Ids& ids, std::size_t prompt, int threads, std::int64_t chunk) {
  const Model model = wide_heads();
  Engine engine(model, Weights::random(model, 3, DType::float32),
                {.threads = threads, .capacity = 40, .chunk = chunk, .cache = cache});
  Session session = engine.session();
  std::vector<float> all;
  const auto keep = [&](std::span<const float> logits) { all.insert(all.end(), logits.begin(), logits.end()); };
  keep(session.run(std::span(ids).first(prompt), Logits::all));
  for (std::size_t i = prompt; i < ids.size(); ++i) keep(session.run({&ids[i], 1}, Logits::last));
  return all;
}

Ids text() {
  Ids ids(30);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 11);
  return ids;
}

double farthest(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i] - b[i])));
  return most;
}

TEST(QuantisedCache, ChangesLogitsALittle) {
  const std::vector<float> exact = logits_of(DType::float32, text(), 20, 1, 512);
  const std::vector<float> narrow = logits_of(DType::q8_0, text(), 20, 1, 512);
  ASSERT_EQ(exact.size(), narrow.size());
  double greatest = 0;
  for (const float logit : exact) greatest = std::max(greatest, std::abs(static_cast<double>(logit)));
  EXPECT_GT(farthest(exact, narrow), 0);
  EXPECT_LT(farthest(exact, narrow), 0.01 * greatest);
}

TEST(QuantisedCache, HoldsTheSameInOnePieceInChunksAndTokenByToken) {
  const std::vector<float> whole = logits_of(DType::q8_0, text(), 30, 1, 512);
  EXPECT_LT(farthest(whole, logits_of(DType::q8_0, text(), 30, 1, 7)), 1e-5);
  EXPECT_LT(farthest(whole, logits_of(DType::q8_0, text(), 1, 1, 512)), 1e-5);
  EXPECT_EQ(logits_of(DType::q8_0, text(), 20, 1, 7), logits_of(DType::q8_0, text(), 20, 2, 7));
}

TEST(QuantisedCache, IsPlannedAndVerifiedToTheByte) {
  Model model = wide_heads();
  VerifyOptions options;
  options.cache = DType::q8_0;
  options.tokens = 20;
  const Verification found = verify(model, Weights::random(model, 1, DType::float32), options);
  EXPECT_TRUE(found.holds());
  const auto cache = std::find_if(found.checks.begin(), found.checks.end(),
                                  [](const Check& check) { return check.name == "KV cache"; });
  ASSERT_NE(cache, found.checks.end());
  // 28 tokens in both layers, keys and values of 2 heads of 32: a block of 34 bytes each. The window has room for
  // 9 + 20 − 1 = 28 too.
  EXPECT_EQ(cache->measured, 2 * 28 * 2 * 2 * 34);
}

TEST(QuantisedCache, RefusesWhatItCannotHold) {
  const auto refusal = [](const Model& model, const EngineOptions& options) -> std::string {
    try {
      Engine engine(model, Weights::random(model, 3, DType::float32), options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(testing_models::small_llama(), {.cache = DType::q8_0}),
            "a cache in q8_0 for small llama, whose heads are 6 wide; expected a multiple of 32");
  EXPECT_EQ(refusal(wide_heads(), {.cache = DType::q4_0}), "a cache in q4_0; expected float32 or q8_0");
  EXPECT_EQ(refusal(wide_heads(), {.device = Device::reference, .cache = DType::q8_0}),
            "a cache in q8_0 for small llama, of which reference has none; expected float32, or the cpu");
}

// What is planned is refused by the same rule as what runs.
class QuantisedCacheProgram : public ProgramTest {};

TEST_F(QuantisedCacheProgram, IsPlannedWhereItRunsAndRefusedWhereItDoesNot) {
  // Keys and values of 32 layers, 8 heads of 128 each: 4 blocks of 34 bytes.
  const Json planned = json({"memory", "llama-3-8b", "--cache", "q8_0", "--target", "cpu"});
  EXPECT_EQ(planned["cache"]["bytes_per_token"], 2 * 32 * 8 * 4 * 34);
  const std::string narrow = project_folder() + "/tests/data/tiny/llama-gqa";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"memory", narrow},
                                                  {"memory", narrow, "--target", "cpu"},
                                                  {"time", narrow, "--on", "h100"},
                                                  {"verify", narrow, "--tokens", "4"},
                                                  {"generate", narrow, "--ids", "1", "--tokens", "1"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--cache", "q8_0"});
    expect_complaint(arguments, 2, "whose heads are 8 wide; expected a multiple of 32");
  }
  expect_complaint({"memory", "deepseek-v2-lite", "--cache", "q8_0", "--target", "cpu"}, 2, "holds latents");
  // Latents of 512 and rotated keys of 64, in 27 layers, on a GPU.
  EXPECT_EQ(json({"memory", "deepseek-v2-lite", "--cache", "q8_0"})["cache"]["bytes_per_token"],
            27 * (512 + 64) / 32 * 34);
  const Json verified =
      json({"verify",     "llama-3-8b", "--random", "1",  "--layers", "1",  "--d-model", "64", "--heads", "2",
            "--kv-heads", "1",          "--d-head", "32", "--vocab",  "64", "--tokens",  "8",  "--cache", "q8_0"});
  EXPECT_EQ(verified["holds"], true);
}

}  // namespace
}  // namespace reckon
