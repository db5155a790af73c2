// Keys and values that are kept in 8 bits: what they cost, and what they lose.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/encoding.h"
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

// Of blocks beside it nothing is lost.
TEST(QuantisedCache, ABlockWithWhatIsNoNumberIsNone) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Encoding& q8_0 = encoding_of(DType::q8_0);
  for (const float bad : {nan, -nan, infinity, -infinity, 1e7f}) {  // the last is beyond 127 · 65,504
    for (const std::size_t at : {32u, 45u, 63u}) {
      std::vector<float> values(96, 0.5f);
      values[at] = bad;
      std::vector<std::byte> blocks(3 * 34);
      q8_0.encode(values.data(), 3, blocks.data());
      decode(q8_0, blocks, values);
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(std::isnan(values[i]), i / 32 == 1) << bad << " at " << at << ", element " << i;
      EXPECT_NEAR(values[0], 0.5, 0.001);
    }
  }
}

TEST(QuantisedCache, KeysAndValuesThatAreNoNumbersAreNotHidden) {
  const Model model = wide_heads();
  for (const Part part : {Part::key, Part::value})
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Weights weights = Weights::random(model, 3, DType::float32);
      const auto found = std::find_if(weights.parameters().begin(), weights.parameters().end(), [&](const auto& each) {
        return each.first.scope.role.part == part && !each.second.matrices.empty();
      });
      ASSERT_NE(found, weights.parameters().end());
      const Weight& matrix = found->second.matrices.front();
      std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.cols), 0.01f);
      values.front() = bad;
      const auto bytes = std::as_bytes(std::span(values));
      weights.replace(found->first, DType::float32, {bytes.begin(), bytes.end()});
      Engine engine(model, std::move(weights), {.threads = 1, .capacity = 40, .cache = DType::q8_0});
      Session session = engine.session();
      const Ids ids = text();
      for (const auto& step : {std::span(ids).first(20), std::span(ids).subspan(20, 1)}) {
        const std::span<const float> logits = session.run(step, Logits::last);
        EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); }));
      }
    }
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
