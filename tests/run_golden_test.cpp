// The engine against references from Hugging Face transformers (tests/data/tiny/README.md): logits of every family, in
// one piece, in chunks and token by token, the same bits for any number of threads.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include "run/engine.h"
#include "run/verify.h"
#include "tiny_models.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reckon {
namespace {

const std::filesystem::path tiny_folders = testing_models::tiny_folder();

struct Reference {
  Model model;
  std::vector<std::int32_t> ids;  // batch × tokens
  std::int64_t batch = 0, tokens = 0;
  std::vector<float> logits;
};

Reference reference(const std::string& folder) {
  Reference r;
  r.model = load_model((tiny_folders / folder).string());
  std::ifstream file(tiny_folders / folder / "io.json");
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

std::vector<float> run(const Reference& r, const std::string& folder, std::int64_t chunk, int threads,
                       Device device = Device::cpu) {
  EngineOptions options;
  options.device = device;
  options.sessions = r.batch;
  options.capacity = r.tokens;
  options.chunk = chunk;
  options.threads = threads;
  Engine engine(r.model, Weights::load(r.model, tiny_folders / folder), options);
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

TEST_P(GoldenRun, GivesTheReferenceLogitsOnEveryDeviceInOnePieceInChunksAndTokenByToken) {
  const Reference r = reference(GetParam());
  const std::pair<Device, std::int64_t> ways[] = {
      {Device::cpu, 512}, {Device::cpu, 5}, {Device::cpu, 1}, {Device::reference, 5}, {Device::reference64, 512}};
  for (const auto& [device, chunk] : ways) {
    const std::vector<float> logits = run(r, GetParam(), chunk, 2, device);
    ASSERT_EQ(logits.size(), r.logits.size());
    float worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_TRUE(std::isfinite(logits[i])) << "device " << int(device) << ", chunk " << chunk << ", element " << i;
      worst = std::max(worst, std::fabs(logits[i] - r.logits[i]));
    }
    EXPECT_LE(worst, 2e-4f) << "device " << int(device) << ", chunk " << chunk;
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
  const Verification v = verify(r.model, Weights::load(r.model, tiny_folders / GetParam()), options);
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

// Sessions on the reference: a fork goes on from a cache of its own, and one that was cancelled goes on as if nothing
// had been.
TEST(Engine, ASessionOnTheReferenceIsForkedCancelledAndBegunAnew) {
  const Model model = load_model("mini-gpt");
  std::atomic<bool> cancel = false;
  const EngineOptions options{.device = Device::reference, .sessions = 3, .chunk = 4, .cancel = &cancel};
  Engine engine(model, Weights::random(model, 1, DType::float32), options);
  const std::vector<std::int32_t> ids = {5, 1, 4, 2, 3, 9}, first = {5, 1, 4}, rest = {2, 3, 9}, other = {7};
  const auto copy = [](std::span<const float> logits) { return std::vector<float>(logits.begin(), logits.end()); };
  Session whole = engine.session(), one = engine.session();
  const std::vector<float> expected = copy(whole.run(ids, Logits::last));
  one.run(first, Logits::last);
  Session two = one.fork();
  two.run(other, Logits::last);
  cancel = true;
  EXPECT_THROW(one.run(other, Logits::last), Cancelled);
  EXPECT_EQ(one.length(), 3);
  cancel = false;
  const Engine::Part parts[] = {{one, rest}, {two, other}};
  EXPECT_EQ(copy(engine.step(parts).first(expected.size())), expected);
  EXPECT_EQ(two.length(), 5);
  two.reset();
  EXPECT_EQ(copy(two.run(ids, Logits::last)), expected);
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
      Engine engine(r.model, Weights::load(r.model, tiny_folders / "deepseek_v2"),
                    {.threads = 1, .capacity = n, .chunk = n});
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
    const Verification v =
        verify(r.model, Weights::load(r.model, tiny_folders / "deepseek_v2"), {.tokens = 8, .batch = 2});
    for (const Check& check : v.checks)
      EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of "
                                 << to_string(check.lowered);
  }
}

}  // namespace
}  // namespace reckon
