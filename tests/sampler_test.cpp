// Sampling: the generator, each filter against a plain reference that sorts, and draws by their distribution.
#include "run/sampler.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace reckon {
namespace {

using Probabilities = std::map<std::int32_t, double>;

// The filters as they are described, by sorting everything, in double.
Probabilities reference(const std::vector<float>& logits, const std::vector<std::int32_t>& history, const Sampling& s) {
  std::vector<double> scores(logits.begin(), logits.end());
  std::vector<std::int32_t> seen = history;
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const std::int32_t id : seen) {
    double& score = scores[static_cast<std::size_t>(id)];
    score = score < 0 ? score * s.repetition_penalty : score / s.repetition_penalty;
  }
  for (double& score : scores) score /= s.temperature;
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::int32_t id) { return scores[static_cast<std::size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return score(a) > score(b); });

  if (s.top_k > 0 && static_cast<std::size_t>(s.top_k) < order.size()) {
    const double least = score(order[static_cast<std::size_t>(s.top_k - 1)]);
    std::erase_if(order, [&](std::int32_t id) { return score(id) < least; });
  }
  const double best = score(order.front());
  const auto total = [&] {
    double sum = 0;
    for (const std::int32_t id : order) sum += std::exp(score(id) - best);
    return sum;
  };
  if (s.top_p < 1) {
    const double all = total();
    double before = 0;
    std::vector<std::int32_t> kept;
    for (const std::int32_t id : order) {
      if (before >= s.top_p * all) break;
      kept.push_back(id);
      before += std::exp(score(id) - best);
    }
    order = kept;
  }
  std::erase_if(order, [&](std::int32_t id) { return std::exp(score(id) - best) < s.min_p; });
  const double all = total();
  Probabilities result;
  for (const std::int32_t id : order) result[id] = std::exp(score(id) - best) / all;
  return result;
}

std::vector<float> random_logits(std::size_t count, std::uint64_t seed, double spread) {
  Random random(seed);
  std::vector<float> logits(count);
  for (float& x : logits)
    x = static_cast<float>(spread * (random.uniform() + random.uniform() + random.uniform() - 1.5));
  return logits;
}

std::map<std::int32_t, int> draws(const std::vector<float>& logits, const std::vector<std::int32_t>& history,
                                  const Sampling& sampling, int count) {
  Sampler sampler(sampling, static_cast<std::int64_t>(logits.size()));
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < count; ++i) ++counts[sampler.next(logits, history)];
  return counts;
}

// Every token drawn is one that may be, and Pearson's chi-square of the counts is below its 99.9% point (by
// Wilson and Hilferty's approximation). Tokens expected fewer than 5 times are put together.
void expect_distribution(const std::vector<float>& logits, const std::vector<std::int32_t>& history,
                         const Sampling& sampling) {
  const int count = 40000;
  const Probabilities expected = reference(logits, history, sampling);
  const std::map<std::int32_t, int> found = draws(logits, history, sampling, count);
  for (const auto& [id, n] : found)
    EXPECT_TRUE(expected.contains(id)) << "token " << id << " was drawn " << n << " times";
  double chi_square = 0, rest = 0, rest_found = 0;
  int cells = 0;
  const auto add = [&](double wanted, double n) {
    chi_square += (n - wanted) * (n - wanted) / wanted;
    ++cells;
  };
  for (const auto& [id, p] : expected) {
    const double wanted = p * count;
    const double n = found.contains(id) ? found.at(id) : 0;
    if (wanted >= 5) {
      add(wanted, n);
    } else {
      rest += wanted;
      rest_found += n;
    }
  }
  if (rest > 5) add(rest, rest_found);
  if (cells < 2) return;
  const double freedom = cells - 1;
  const double z = 3.0902, root = 1 - 2 / (9 * freedom) + z * std::sqrt(2 / (9 * freedom));
  EXPECT_LT(chi_square, freedom * root * root * root) << freedom << " degrees of freedom";
}

std::string message_of(const Sampling& sampling) {
  try {
    validate(sampling);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// The first outputs for seed 1234567 as published with the reference implementation (Vigna, splitmix64.c).
TEST(Random, GivesTheNumbersOfTheReferenceImplementation) {
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(Random, UniformNumbersLieInTheUnitIntervalWithMeanOneHalf) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 4 * std::sqrt(1.0 / 12 / 100000));  // four standard deviations
}

TEST(Sampler, DrawsFromTheModelsDistributionWhenNothingIsFiltered) {
  expect_distribution(random_logits(50, 1, 4), {}, {.seed = 11});
  expect_distribution(random_logits(5000, 2, 8), {}, {.seed = 12});  // several blocks of weights
}

TEST(Sampler, DividesLogitsByTheTemperature) {
  expect_distribution(random_logits(50, 3, 4), {}, {.temperature = 0.5, .seed = 13});
  expect_distribution(random_logits(50, 3, 4), {}, {.temperature = 3, .seed = 14});
}

TEST(Sampler, LeavesTheTopKAndThoseAsLikelyAsTheLastOfThem) {
  expect_distribution(random_logits(300, 4, 3), {}, {.top_k = 7, .seed = 15});
  // 2, 2 and then three at 1: of top 3, the third is at 1, so all five are left.
  const std::vector<float> tied = {1, 0, 2, 1, 2, 1, 0};
  std::vector<std::int32_t> left;
  for (const auto& [id, n] : draws(tied, {}, {.top_k = 3, .seed = 1}, 5000)) left.push_back(id);
  EXPECT_EQ(left, (std::vector<std::int32_t>{0, 2, 3, 4, 5}));
}

TEST(Sampler, LeavesTheFewestTokensThatReachTopP) {
  expect_distribution(random_logits(300, 5, 6), {}, {.top_p = 0.8, .seed = 16});
  // Probabilities 1/2, 1/4, 1/8, 1/8 (exact in floats up to rounding of the logits).
  const float step = std::log(2.0f);
  const std::vector<float> logits = {3 * step, 2 * step, step, step};
  const auto left = [&](double top_p) { return draws(logits, {}, {.top_p = top_p, .seed = 2}, 2000).size(); };
  EXPECT_EQ(left(0.01), 1u);  // at least one
  EXPECT_EQ(left(0.499), 1u);
  EXPECT_EQ(left(0.501), 2u);
  EXPECT_EQ(left(0.749), 2u);
  EXPECT_EQ(left(0.751), 3u);
  EXPECT_EQ(left(0.999), 4u);
}

TEST(Sampler, StopsExactlyWhereTopPIsReached) {
  // Four alike: two of them have exactly 1/2, so the third is not needed; the lower ids rank first.
  std::vector<std::int32_t> left;
  for (const auto& [id, n] : draws({5, 5, 5, 5}, {}, {.top_p = 0.5, .seed = 3}, 2000)) left.push_back(id);
  EXPECT_EQ(left, (std::vector<std::int32_t>{0, 1}));
}

TEST(Sampler, LeavesWhatIsAtLeastMinPTimesAsLikelyAsTheBest) {
  expect_distribution(random_logits(300, 6, 6), {}, {.min_p = 0.1, .seed = 17});
  EXPECT_EQ(draws({1, 2, 2, 0}, {}, {.min_p = 1, .seed = 4}, 1000).size(), 2u);  // only those as likely as the best
}

TEST(Sampler, PenalizesEachTokenOfTheHistoryOnce) {
  const std::vector<float> logits = random_logits(40, 7, 4);
  expect_distribution(logits, {3, 3, 3, 17, 20, 39}, {.repetition_penalty = 1.7, .seed = 18});
  expect_distribution(logits, {3, 17, 20, 39}, {.repetition_penalty = 0.6, .seed = 19});
  // Positive logits are divided, negative ones multiplied: 3 / 2 < 2, and 0 stays above -1 · 2.
  EXPECT_EQ(Sampler({.repetition_penalty = 2, .temperature = 0}, 2)
                .next(std::vector<float>{3, 2}, std::vector<std::int32_t>{0, 0}),
            1);
  EXPECT_EQ(Sampler({.repetition_penalty = 2, .temperature = 0}, 2)
                .next(std::vector<float>{-1, -1.5f}, std::vector<std::int32_t>{0}),
            1);
}

TEST(Sampler, AppliesAllFiltersInTheirOrder) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Sampling sampling{.repetition_penalty = 1.3,
                            .temperature = 0.7 + 0.1 * static_cast<double>(seed),
                            .top_k = 40,
                            .top_p = 0.9,
                            .min_p = 0.02,
                            .seed = seed};
    expect_distribution(random_logits(500, 100 + seed, 7), {1, 2, 3, 400, 401}, sampling);
  }
}

// Weights 8, 4, 2, 1, 1 of 16 in the order of ids 1, 3, 0, 2, 4: top_k 4 leaves those that are as likely as the fourth,
// all five; of 3 it leaves 14 parts, of which top_p 0.8 wants 11.2: the first two; min_p 0.6 then only the first.
TEST(Sampler, TellsWhichFilterTookATokenOutAndWhereItsDrawsLie) {
  const std::vector<float> logits = {std::log(2.0F), std::log(8.0F), 0, std::log(4.0F), 0};
  const auto chances = [&](const Sampling& sampling) { return Sampler(sampling, 5).chances(logits, {}); };
  const std::vector<Chance> all = chances({.top_k = 4});
  for (const Chance& chance : all) EXPECT_EQ(chance.removed, Filter::none);
  EXPECT_NEAR(all[1].probability, 0.5, 1e-6);
  EXPECT_NEAR(all[1].from, 2 / 16.0, 1e-6);  // ids in their order: 2 parts of id 0 come before
  EXPECT_NEAR(all[1].to, 10 / 16.0, 1e-6);
  EXPECT_NEAR(all[4].to, 1, 1e-6);

  const std::vector<Chance> some = chances({.top_k = 3, .top_p = 0.8});
  EXPECT_EQ(some[2].removed, Filter::top_k);
  EXPECT_EQ(some[4].removed, Filter::top_k);
  EXPECT_EQ(some[0].removed, Filter::top_p);
  EXPECT_EQ(some[0].probability, 0);
  EXPECT_NEAR(some[1].probability, 8 / 12.0, 1e-6);
  EXPECT_NEAR(some[3].from, 8 / 12.0, 1e-6);

  const std::vector<Chance> one = chances({.top_k = 3, .top_p = 0.8, .min_p = 0.6});
  EXPECT_EQ(one[3].removed, Filter::min_p);
  EXPECT_EQ(one[1].probability, 1);

  const std::vector<Chance> half = chances({.temperature = 2});
  EXPECT_FLOAT_EQ(half[1].scaled, std::log(8.0F) / 2);
  EXPECT_NEAR(half[1].probability / half[2].probability, std::sqrt(8.0), 1e-5);
}

TEST(Sampler, DrawsByANumberWhatItSaysThatTheNumberDraws) {
  std::vector<float> logits(3000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7919 % 3000) / 500.0F;
  Sampler sampler({.top_k = 2500, .top_p = 0.97}, 3000);
  const std::vector<Chance> chances = sampler.chances(logits, {});
  for (int i = 0; i < 1000; ++i) {
    const double u = i / 1000.0 + 1e-5;
    const Chance& drawn = chances[static_cast<std::size_t>(sampler.draw(u))];
    EXPECT_EQ(drawn.removed, Filter::none);
    EXPECT_LE(drawn.from, u + 1e-12);
    EXPECT_GT(drawn.to, u - 1e-12);
  }
}

TEST(Sampler, IsGreedyAtTemperatureZeroAndTakesTheLowestIdOfEqualOnes) {
  Sampler sampler({.temperature = 0, .top_k = 2, .seed = 5}, 5);
  EXPECT_EQ(sampler.next(std::vector<float>{0, 4, 1, 4, -2}, {}), 1);
  EXPECT_EQ(sampler.next(std::vector<float>{-3, -4, -1, -4, -2}, {}), 2);
}

TEST(Sampler, BecomesGreedyAsTheTemperatureNearsZero) {
  for (const double temperature : {1e-3, 1e-30, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(draws({0, 4, 1, 3.5f, -2}, {}, {.temperature = temperature, .seed = 6}, 100),
              (std::map<std::int32_t, int>{{1, 100}}));
  }
}

TEST(Sampler, RepeatsItsTokensForTheSameSeedAndNotForAnother) {
  const std::vector<float> logits = random_logits(1000, 8, 3);
  const auto tokens = [&](std::uint64_t seed) {
    Sampler sampler({.top_p = 0.95, .seed = seed}, 1000);
    std::vector<std::int32_t> result;
    for (int i = 0; i < 50; ++i) result.push_back(sampler.next(logits, {}));
    return result;
  };
  EXPECT_EQ(tokens(1), tokens(1));
  EXPECT_NE(tokens(1), tokens(2));
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity, -infinity}) {
    for (const double temperature : {0.0, 1.0}) {
      std::vector<float> logits(70, 0.5f);
      logits[66] = bad;
      Sampler sampler({.temperature = temperature}, 70);
      try {
        sampler.next(logits, {});
        ADD_FAILURE() << bad;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("logit 66 of 70 is "), std::string::npos) << error.what();
      }
    }
  }
}

TEST(Sampler, NamesTheParameterThatMakesNoSense) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, -1.0, infinity}) {
    EXPECT_EQ(message_of({.temperature = bad}).find("`temperature` is "), 0u);
    EXPECT_EQ(message_of({.top_p = bad}).find("`top_p` is "), 0u);
    EXPECT_EQ(message_of({.min_p = bad}).find("`min_p` is "), 0u);
    EXPECT_EQ(message_of({.repetition_penalty = bad}).find("`repetition_penalty` is "), 0u);
  }
  EXPECT_EQ(message_of({.top_p = 0}), "`top_p` is 0; expected a probability above 0, at most 1 (off)");
  EXPECT_EQ(message_of({.top_k = -1}).find("`top_k` is -1;"), 0u);
  EXPECT_EQ(message_of({.repetition_penalty = 0}).find("`repetition_penalty` is 0;"), 0u);
  EXPECT_EQ(message_of({.repetition_penalty = 1e-320}).find("`repetition_penalty` is 1e-320;"), 0u);
  EXPECT_EQ(message_of({}), "");
  EXPECT_EQ(message_of({.temperature = 0, .top_k = 1, .top_p = 1, .min_p = 1}), "");
}

TEST(Logits, LogSumExpIsThatOfTheDefinition) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>(2500, 3.0f)), 3 + std::log(2500.0), 1e-6);
  const std::vector<float> logits = random_logits(1500, 9, 20);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(log_sum_exp(logits), std::log(sum), 1e-6);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{1000, 1000}), 1000 + std::log(2.0), 1e-6);  // e^1000 is no float
}

TEST(Logits, BestTokensAreTheFirstOfAFullSort) {
  for (const int count : {0, 1, 2, 5, 63, 300, 599, 600, 1000}) {
    std::vector<float> logits = random_logits(600, 10, 3);
    for (float& x : logits) x = std::round(8 * x);  // many ties
    std::vector<Ranked> all;
    for (std::size_t i = 0; i < logits.size(); ++i) all.push_back({logits[i], static_cast<std::int32_t>(i)});
    std::sort(all.begin(), all.end(), ranks_before);
    std::vector<Ranked> best;
    best_tokens(logits, count, best);
    ASSERT_EQ(best.size(), static_cast<std::size_t>(std::min(count, 600)));
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].id, all[i].id) << count << ", " << i;
  }
}

}  // namespace
}  // namespace reckon
