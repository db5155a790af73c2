// Each filter is a border in the ranking; none sorts more than the tokens that lie around it.
#include "run/sampler.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/host_vectors.h"
#include "run/inputs.h"

namespace reckon {
namespace {

// Eight running sums: short chains of additions, and an order that does not depend on the machine.
double sum(std::span<const float> values) {
  std::array<double, 8> lanes = {};
  std::size_t i = 0;
  for (; i + lanes.size() <= values.size(); i += lanes.size()) {
    for (std::size_t j = 0; j < lanes.size(); ++j) lanes[j] += static_cast<double>(values[i + j]);
  }
  for (std::size_t j = 0; i < values.size(); ++i, ++j) lanes[j] += static_cast<double>(values[i]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Weights are passed by so many in a draw.
constexpr std::size_t draw_block = 1024;
std::span<const float> block_of(std::span<const float> weights, std::size_t first) {
  return weights.subspan(first, std::min(draw_block, weights.size() - first));
}

// The first in rank at which the weights so far reach `wanted`; `id` is the place in `weights`. Halves what is left
// until one remains, so the work is that of a few passes, not of a sort.
Ranked border(std::span<Ranked> ranked, std::span<const float> weights, double wanted) {
  while (ranked.size() > 1) {
    const std::size_t half = ranked.size() / 2;
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(half), ranked.end(), ranks_before);
    double weight = 0;
    for (const Ranked& token : ranked.first(half))
      weight += static_cast<double>(weights[static_cast<std::size_t>(token.id)]);
    if (weight >= wanted) {
      ranked = ranked.first(half);
    } else {
      wanted -= weight;
      ranked = ranked.subspan(half);
    }
  }
  return ranked.front();
}

}  // namespace

void validate(const Sampling& sampling) {
  // Written so that a NaN fails each of them.
  const auto expect = [](bool right, const char* field, double found, const char* expected) {
    if (!right) throw UsageError(fmt::format("`{}` is {}; expected {}", field, found, expected));
  };
  const double most = std::numeric_limits<double>::max();
  expect(sampling.repetition_penalty >= 1e-6 && sampling.repetition_penalty <= 1e6, "repetition_penalty",
         sampling.repetition_penalty, "a number from 1e-6 to 1e6 (1 to do without)");
  expect(sampling.temperature >= 0 && sampling.temperature <= most, "temperature", sampling.temperature,
         "0 (greedy) or a number above it");
  expect(sampling.top_k >= 0, "top_k", static_cast<double>(sampling.top_k), "0 (off) or how many tokens are left");
  expect(sampling.top_p > 0 && sampling.top_p <= 1, "top_p", sampling.top_p, "a probability above 0, at most 1 (off)");
  expect(sampling.min_p >= 0 && sampling.min_p <= 1, "min_p", sampling.min_p, "a number from 0 (off) to 1");
}

Sampler::Sampler(const Sampling& sampling, std::int64_t vocab_size) : sampling_(sampling), random_(sampling.seed) {
  validate(sampling);
  const auto size = static_cast<std::size_t>(vocab_size);
  if (sampling.repetition_penalty != 1) scores_.reserve(size);
  if (sampling.temperature == 0) return;
  ranked_.reserve(size);
  ids_.reserve(size);
  weights_.reserve(size);
}

std::span<const float> Sampler::penalized(std::span<const float> logits, std::span<const std::int32_t> history) {
  if (sampling_.repetition_penalty == 1) return logits;
  scores_.assign(logits.begin(), logits.end());
  check_ids(history, static_cast<std::int64_t>(logits.size()));
  const auto penalty = static_cast<float>(sampling_.repetition_penalty);
  for (const std::int32_t id : history) {
    // From the logit, not the score: a token that occurs twice is penalized once.
    const float logit = logits[static_cast<std::size_t>(id)];
    scores_[static_cast<std::size_t>(id)] = logit < 0 ? logit * penalty : logit / penalty;
  }
  return scores_;
}

void Sampler::keep_top_k(std::span<const float> scores) {
  const auto size = static_cast<std::int32_t>(scores.size());
  if (sampling_.top_k == 0 || sampling_.top_k >= size) {
    ids_.resize(scores.size());
    std::iota(ids_.begin(), ids_.end(), 0);
    return;
  }
  best_tokens(scores, sampling_.top_k, ranked_);
  const float least = ranked_.back().score;
  ids_.clear();
  for (std::int32_t id = 0; id < size; ++id) {
    if (scores[static_cast<std::size_t>(id)] >= least) ids_.push_back(id);
  }
}

void Sampler::weigh(std::span<const float> scores, float most) {
  // A temperature next to 0 must not make 0 · ∞ of the best.
  const auto factor = static_cast<float>(std::min(1 / sampling_.temperature, 1e38));
  weights_.resize(ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i)
    weights_[i] = (scores[static_cast<std::size_t>(ids_[i])] - most) * factor;
  vector_exp(weights_.data(), static_cast<std::int64_t>(weights_.size()), 0);
}

// Buckets of like weights, by exponent and the first bits of the mantissa (these bits of a positive float rise with its
// value), tell in which of them top_p is reached; only that one is looked into.
void Sampler::keep_top_p(std::span<const float> scores) {
  if (sampling_.top_p == 1) return;
  const auto bucket_of = [](float weight) { return __builtin_bit_cast(std::uint32_t, weight) >> 20; };
  std::array<double, 1024> buckets = {};  // no weight is above 1, whose bucket is 1016
  for (const float weight : weights_) buckets[bucket_of(weight)] += static_cast<double>(weight);
  double wanted = sampling_.top_p * sum(weights_);
  std::uint32_t bucket = buckets.size() - 1;
  for (; bucket > 0 && (buckets[bucket] == 0 || buckets[bucket] < wanted); --bucket) wanted -= buckets[bucket];

  const auto ranked = [&](std::size_t i) {
    return Ranked{scores[static_cast<std::size_t>(ids_[i])], static_cast<std::int32_t>(i)};
  };
  ranked_.clear();
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (bucket_of(weights_[i]) == bucket) ranked_.push_back(ranked(i));
  }
  if (ranked_.empty()) return;  // all are needed
  const Ranked last = border(ranked_, weights_, wanted);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ranks_before(last, ranked(i))) weights_[i] = 0;
  }
}

void Sampler::keep_min_p() {
  if (sampling_.min_p == 0) return;
  for (float& weight : weights_) {
    if (static_cast<double>(weight) < sampling_.min_p) weight = 0;
  }
}

double Sampler::total_weight() const {
  double total = 0;
  for (std::size_t first = 0; first < weights_.size(); first += draw_block) total += sum(block_of(weights_, first));
  return total;
}

// Whole blocks are passed by their sums, then one is walked through. Should rounding leave something over at the end,
// the last token that has a weight is chosen.
std::int32_t Sampler::draw(double u) const {
  double left = u * total_weight();
  std::size_t begin = 0;
  for (std::size_t first = 0; first < weights_.size(); first += draw_block) {
    const double weight = sum(block_of(weights_, first));
    if (weight == 0) continue;
    begin = first;
    if (left < weight) break;
    left -= weight;
  }
  std::size_t chosen = begin;
  for (std::size_t i = begin; i < begin + block_of(weights_, begin).size() && left >= 0; ++i) {
    if (weights_[i] == 0) continue;
    chosen = i;
    left -= static_cast<double>(weights_[i]);
  }
  return ids_[chosen];
}

template <class Told>
std::span<const float> Sampler::filter(std::span<const float> logits, std::span<const std::int32_t> history,
                                       const Told& told) {
  const std::span<const float> scores = penalized(logits, history);
  const float most = greatest(scores);
  if (sampling_.temperature == 0) {
    ids_.assign(1, static_cast<std::int32_t>(std::find(scores.begin(), scores.end(), most) - scores.begin()));
    weights_.assign(1, 1);
    told(Filter::greedy);
    return scores;
  }
  keep_top_k(scores);
  weigh(scores, most);
  told(Filter::top_k);
  keep_top_p(scores);
  told(Filter::top_p);
  keep_min_p();
  told(Filter::min_p);
  return scores;
}

std::int32_t Sampler::next(std::span<const float> logits, std::span<const std::int32_t> history) {
  filter(logits, history, [](Filter) {});
  return draw(sampling_.temperature == 0 ? 0 : random_.uniform());
}

std::vector<Chance> Sampler::chances(std::span<const float> logits, std::span<const std::int32_t> history) {
  std::vector<Chance> all(logits.size());
  std::vector<float> before;  // the weights that the filter before left
  const auto told = [&](Filter filter) {
    if (before.empty()) {  // the first to work leaves ids, all others weights
      for (Chance& chance : all) chance.removed = filter;
      for (const std::int32_t id : ids_) all[static_cast<std::size_t>(id)].removed = Filter::none;
    } else {
      for (std::size_t i = 0; i < ids_.size(); ++i) {
        if (weights_[i] == 0 && before[i] != 0) all[static_cast<std::size_t>(ids_[i])].removed = filter;
      }
    }
    before = weights_;
  };
  const std::span<const float> scores = filter(logits, history, told);
  const auto factor = sampling_.temperature == 0 ? 1.0F : static_cast<float>(std::min(1 / sampling_.temperature, 1e38));
  for (std::size_t id = 0; id < all.size(); ++id) all[id].scaled = scores[id] * factor;
  const double total = total_weight();
  double at = 0;
  for (std::size_t first = 0; first < weights_.size(); first += draw_block) {
    const std::span<const float> some = block_of(weights_, first);
    double within = at;
    for (std::size_t i = 0; i < some.size(); ++i) {
      Chance& chance = all[static_cast<std::size_t>(ids_[first + i])];
      chance.probability = static_cast<double>(some[i]) / total;
      chance.from = within / total;
      within += static_cast<double>(some[i]);
      chance.to = within / total;
    }
    at += sum(some);
  }
  return all;
}

}  // namespace reckon
