// Scores against the losses of the tiny references, and windows against one row of logits at a time.
#include "run/score.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <numeric>

#include "run/logits.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;
using testing_models::tiny_engine;
using testing_models::tiny_io;

Ids long_text() {
  Ids ids;
  for (const auto& row : tiny_io("llama-gqa").at("ids").get<std::vector<Ids>>())
    ids.insert(ids.end(), row.begin(), row.end());
  return ids;  // 48 tokens
}

// −ln p of token t from the `context` tokens before it.
double by_hand(Engine& engine, const Ids& ids, std::int64_t t, std::int64_t context) {
  Session session = engine.session();
  const std::span<const float> logits = session.run(
      std::span(ids).subspan(static_cast<std::size_t>(t - context), static_cast<std::size_t>(context)), Logits::last);
  return log_sum_exp(logits) - static_cast<double>(logits[static_cast<std::size_t>(ids[static_cast<std::size_t>(t)])]);
}

TEST(Score, GivesTheLossOfEveryTinyReference) {
  for (const std::string& name : testing_models::tiny_names()) {
    const nlohmann::json io = tiny_io(name);
    Engine engine = tiny_engine(name, {.threads = 1, .capacity = 24});
    Score sum;
    for (const Ids& row : io.at("ids").get<std::vector<Ids>>()) {
      const Score one = score(engine, row);
      sum.nll += one.nll;
      sum.tokens += one.tokens;
    }
    EXPECT_EQ(sum.tokens, 2 * 23) << name;
    EXPECT_NEAR(sum.loss(), io.at("loss").get<double>(), 2e-5) << name;
    EXPECT_NEAR(sum.perplexity(), std::exp(io.at("loss").get<double>()), 2e-5 * sum.perplexity()) << name;
  }
}

TEST(Score, SlidesAWindowThatScoresEachTokenOnce) {
  const Ids ids = long_text();
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  // Windows of 10 that begin at 0, 3, 6, …: the first scores 1 to 9, each further one three tokens, the first of them
  // from 7 before it, the last from 9.
  double expected = 0;
  for (std::int64_t t = 1; t < 48; ++t) {
    const std::int64_t context = t < 10 ? t : 7 + (t - 10) % 3;
    expected += by_hand(engine, ids, t, context);
  }
  const Score found = score(engine, ids, {.stride = 3});
  EXPECT_EQ(found.tokens, 47);
  EXPECT_NEAR(found.nll, expected, 1e-3);
  // Windows that share one token: each of the others is scored from those of its own window alone.
  expected = 0;
  for (std::int64_t t = 1; t < 48; ++t) expected += by_hand(engine, ids, t, (t - 1) % 9 + 1);
  const Score side_by_side = score(engine, ids, {.stride = 9});
  EXPECT_EQ(side_by_side.tokens, 47);
  EXPECT_NEAR(side_by_side.nll, expected, 1e-3);
  EXPECT_NEAR(score(engine, Ids(ids.begin(), ids.begin() + 10), {}).nll,
              score(engine, Ids(ids.begin(), ids.begin() + 10), {.stride = 1}).nll, 1e-9);
}

TEST(Score, DoesNotDependOnPieces) {
  const Ids ids = long_text();
  Engine one = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const Score expected = score(one, ids);
  Engine chunked = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10, .chunk = 3});
  EXPECT_NEAR(score(chunked, ids).nll, expected.nll, 1e-4);
}

TEST(Score, RotatesAWholeWindowByItsLength) {
  // LongRoPE and dynamic NTK, both of an original context of 16: with windows of 20 every pass is beyond it.
  for (const char* name : {"phi3-longrope-long", "llama-dynamic"}) {
    Ids ids = long_text();
    for (std::int32_t& id : ids) id %= 131;
    Engine whole = tiny_engine(name, {.threads = 1, .capacity = 20});
    double expected = 0;
    for (std::int64_t begin = 0; begin <= 28; begin += 4) {
      Session session = whole.session();
      const std::span<const float> logits =
          session.run(std::span(ids).subspan(static_cast<std::size_t>(begin), 20), Logits::all);
      for (std::int64_t row = begin == 0 ? 0 : 15; row < 19; ++row) {
        const auto here = logits.subspan(static_cast<std::size_t>(row) * 131, 131);
        expected += log_sum_exp(here) -
                    static_cast<double>(here[static_cast<std::size_t>(ids[static_cast<std::size_t>(begin + row + 1)])]);
      }
    }
    for (const std::int64_t chunk : {20, 3}) {
      Engine engine = tiny_engine(name, {.threads = 1, .capacity = 20, .chunk = chunk});
      EXPECT_NEAR(score(engine, ids, {.stride = 4}).nll, expected, 1e-3) << name << ", chunk " << chunk;
    }
  }
}

TEST(Score, ReportsProgressAndStopsWhenTheEngineIsCancelled) {
  const Ids ids = long_text();
  std::atomic<bool> cancel = false;
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10, .cancel = &cancel});
  std::vector<std::int64_t> seen;
  const Score whole = score(engine, ids, {}, [&](const Score& so_far) {
    EXPECT_EQ(so_far.all, 47);
    seen.push_back(so_far.tokens);
  });
  EXPECT_TRUE(whole.whole());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{9, 14, 19, 24, 29, 34, 39, 44, 47}));
  const Score stopped = score(engine, ids, {}, [&](const Score& so_far) { cancel = so_far.tokens >= 14; });
  EXPECT_EQ(stopped.tokens, 14);
  EXPECT_FALSE(stopped.whole());
  EXPECT_EQ(score(engine, ids).tokens, 0);
}

TEST(Score, DivergesFromAnotherModelAsTheLogitsSay) {
  const Ids ids = long_text();
  Engine exact = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  Engine other = tiny_engine("mistral", {.threads = 1, .capacity = 10});
  ASSERT_EQ(exact.model().vocab_size, other.model().vocab_size);
  const Divergence found = diverge(exact, other, ids, {.stride = 9}, 3);
  EXPECT_NEAR(found.score.nll, score(exact, ids, {.stride = 9}).nll, 1e-9);
  EXPECT_NEAR(found.other.nll, score(other, ids, {.stride = 9}).nll, 1e-9);

  std::vector<double> expected;
  std::int64_t equal = 0;
  for (std::int64_t t = 1; t < 48; ++t) {
    const std::int64_t context = (t - 1) % 9 + 1;
    const auto before =
        std::span(ids).subspan(static_cast<std::size_t>(t - context), static_cast<std::size_t>(context));
    std::vector<std::vector<double>> log_p;
    std::vector<std::ptrdiff_t> best;
    for (Engine* engine : {&exact, &other}) {
      Session session = engine->session();
      const std::span<const float> logits = session.run(before, Logits::last);
      log_p.emplace_back();
      for (const float logit : logits) log_p.back().push_back(static_cast<double>(logit) - log_sum_exp(logits));
      best.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    double sum = 0;
    for (std::size_t id = 0; id < log_p[0].size(); ++id) sum += std::exp(log_p[1][id]) * (log_p[1][id] - log_p[0][id]);
    expected.push_back(sum);
    equal += best[0] == best[1];
  }
  EXPECT_NEAR(found.sum, std::accumulate(expected.begin(), expected.end(), 0.0), 1e-4);
  EXPECT_EQ(found.equal_best, equal);
  const auto greatest = std::max_element(expected.begin(), expected.end());
  ASSERT_EQ(found.worst.size(), 3U);
  EXPECT_EQ(found.worst[0].position, greatest - expected.begin() + 1);
  EXPECT_NEAR(found.worst[0].divergence, *greatest, 1e-5);
  EXPECT_NEAR(found.quantile(1), *greatest, 1e-5);
  EXPECT_GE(found.worst[1].divergence, found.worst[2].divergence);

  Engine again = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const Divergence none = diverge(exact, again, ids, {});
  EXPECT_EQ(none.sum, 0);
  EXPECT_EQ(none.equal_best, 47);
}

TEST(Score, TheMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  const auto median = [](std::vector<float> sorted) {
    return Divergence{{}, {}, 0, 0, std::move(sorted), {}}.median();
  };
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({1, 4}), 2.5);
  EXPECT_EQ(median({1, 2, 7}), 2);
  EXPECT_EQ(median({1, 2, 7, 9}), 4.5);
}

TEST(Score, RefusesToCompareOtherVocabularies) {
  Engine one = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  Engine other = tiny_engine("phi3-longrope-long", {.threads = 1, .capacity = 10});
  const Ids ids = {1, 2, 3};
  EXPECT_THROW(diverge(one, other, ids), UsageError);  // 263 and 131 tokens
  Engine longer = tiny_engine("llama-gqa", {.threads = 1, .capacity = 11});
  EXPECT_THROW(diverge(one, longer, ids), UsageError);
}

TEST(Score, RefusesWhatCannotBeScored) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const Ids ids = long_text();
  EXPECT_THROW(score(engine, Ids{}), UsageError);
  EXPECT_THROW(score(engine, Ids{1}), UsageError);
  EXPECT_THROW(score(engine, ids, {.stride = 10}), UsageError);
  EXPECT_THROW(score(engine, ids, {.stride = -1}), UsageError);
  EXPECT_THROW(score(engine, Ids{1, 2, 263}), UsageError);
  EXPECT_THROW(score(engine, Ids{1, -2, 3}), UsageError);
}

}  // namespace
}  // namespace reckon
