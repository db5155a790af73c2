// The engine against references from Hugging Face transformers (tests/data/tiny/README.md): logits of every family, in
// one piece, in chunks and token by token, the same bits for any number of threads.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include "run/engine.h"
#include "run/verify.h"
#include "tiny_models.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reckon {
namespace {

const std::filesystem::path tiny = testing_models::tiny_folder();

struct Reference {
  Model model;
  std::vector<std::int32_t> ids;  // batch × tokens
  std::int64_t batch = 0, tokens = 0;
  std::vector<float> logits;
};

Reference reference(const std::string& folder) {
  Reference r;
  r.model = load_model((tiny / folder).string());
  std::ifstream file(tiny / folder / "io.json");
  const auto io = nlohmann::json::parse(file);
  r.batch = static_cast<std::int64_t>(io["ids"].size());
  r.tokens = static_cast<std::int64_t>(io["ids"][0].size());
  for (const auto& row : io["ids"]) {
    for (const auto& id : row) r.ids.push_back(id.get<std::int32_t>());
  }
  for (const auto& row : io["logits"]) {
    for (const auto& position : row) {
      for (const auto& logit : position) r.logits.push_back(logit.get<float>());
    }
  }
  return r;
}

std::vector<float> run(const Reference& r, const std::string& folder, std::int64_t chunk, int threads) {
  EngineOptions options;
  options.sessions = r.batch;
  options.capacity = r.tokens;
  options.chunk = chunk;
  options.threads = threads;
  Engine engine(r.model, Weights::load(r.model, tiny / folder), options);
  std::vector<float> all;
  for (std::int64_t b = 0; b < r.batch; ++b) {
    Session session = engine.session();
    const auto length = static_cast<std::size_t>(r.tokens);
    const auto logits =
        session.run(std::span(r.ids).subspan(static_cast<std::size_t>(b) * length, length), Logits::all);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

class GoldenRun : public testing::TestWithParam<std::string> {};

TEST_P(GoldenRun, GivesTheReferenceLogitsInOnePieceInChunksAndTokenByToken) {
  const Reference r = reference(GetParam());
  for (std::int64_t chunk : {std::int64_t{512}, std::int64_t{5}, std::int64_t{1}}) {
    const std::vector<float> logits = run(r, GetParam(), chunk, 2);
    ASSERT_EQ(logits.size(), r.logits.size());
    float worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_TRUE(std::isfinite(logits[i])) << "chunk " << chunk << ", element " << i;
      worst = std::max(worst, std::fabs(logits[i] - r.logits[i]));
    }
    EXPECT_LE(worst, 2e-4f) << "chunk " << chunk;
  }
}

TEST_P(GoldenRun, GivesTheSameBitsForAnyNumberOfThreads) {
  const Reference r = reference(GetParam());
  const std::vector<float> alone = run(r, GetParam(), 7, 1);
  for (int threads : {2, 3}) EXPECT_EQ(run(r, GetParam(), 7, threads), alone) << threads << " threads";
}

TEST_P(GoldenRun, MeasuresWhatItPredicts) {
  const Reference r = reference(GetParam());
  VerifyOptions options;
  options.tokens = 20;
  options.steps = 3;
  options.batch = 2;
  const Verification v = verify(r.model, Weights::load(r.model, tiny / GetParam()), options);
  for (const Check& check : v.checks)
    EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of " << to_string(check.lowered);
  for (const std::string& finding : v.findings) ADD_FAILURE() << finding;
  EXPECT_TRUE(v.holds());
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenRun, testing::ValuesIn(testing_models::tiny_names()),
                         testing_models::tiny_test_name);

TEST(Verify, HoldsForAPresetWithRandomWeightsInEachPrecision) {
  const Model model = load_model("mini-gpt");
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const Verification v = verify(model, Weights::random(model, 1, dtype), {});
    for (const Check& check : v.checks)
      EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of "
                                 << to_string(check.lowered);
    EXPECT_EQ(v.checks.at(0).measured, 131'392);
  }
}

TEST(Engine, RefusesIdsOutsideTheVocabularyAndMoreTokensThanTheContext) {
  const Model model = load_model("mini-gpt");
  Engine engine(model, Weights::random(model, 1, DType::float32), {});
  const std::vector<std::int32_t> outside = {1, 512};
  Session session = engine.session();
  EXPECT_THROW(session.run(outside, Logits::last), UsageError);
  const std::vector<std::int32_t> negative = {-1};
  EXPECT_THROW(session.run(negative, Logits::last), UsageError);
  const std::vector<std::int32_t> many(33, 1);
  EXPECT_THROW(session.run(many, Logits::last), UsageError);
}

// A window over latents keeps a ring of them, from which keys and values are rebuilt. Each row of logits is held
// against a run of all tokens up to it in one piece, for which nothing was cached.
TEST(Engine, AWindowOverLatentsGivesTheLogitsOfARunWithoutACache) {
  for (const std::int64_t window : {1, 3, 6}) {
    Reference r = reference("deepseek_v2");
    for (Layer& layer : r.model.layers) find<Attention>(layer)->window = window;
    const std::int64_t vocabulary = r.model.vocab_size;
    std::vector<float> expected;  // of the first sequence
    for (std::int64_t n = 1; n <= r.tokens; ++n) {
      Engine engine(r.model, Weights::load(r.model, tiny / "deepseek_v2"), {.threads = 1, .capacity = n, .chunk = n});
      Session session = engine.session();
      const auto last = session.run(std::span(r.ids).first(static_cast<std::size_t>(n)), Logits::last);
      expected.insert(expected.end(), last.begin(), last.end());
    }
    for (const std::int64_t chunk : {24, 7, 5, 2, 1}) {
      const std::vector<float> found = run(r, "deepseek_v2", chunk, 1);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-4)
            << "window " << window << ", chunk " << chunk << ", token " << static_cast<std::int64_t>(i) / vocabulary;
      }
    }
    const Verification v = verify(r.model, Weights::load(r.model, tiny / "deepseek_v2"), {.tokens = 8, .batch = 2});
    for (const Check& check : v.checks)
      EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of "
                                 << to_string(check.lowered);
  }
}

}  // namespace
}  // namespace reckon
