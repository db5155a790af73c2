// How well a model predicts a text: the sum of −ln p over its tokens.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "run/engine.h"

namespace reckon {

// The text is read in windows of C tokens, C being the engine's capacity; each begins `stride` after the one before,
// and the last ends with the text. A window scores the tokens that no earlier one has, each from all that stand before
// it in the window. So every token but the first is scored once, and those after the first window have at least
// C − stride tokens before them. (The sliding window of Hugging Face's guide to perplexity.)
struct Scoring {
  std::int64_t stride = 0;  // 1 to C − 1; 0: C/2
};

struct Score {
  double nll = 0;           // Σ −ln p, in nats
  std::int64_t tokens = 0;  // that were scored
  std::int64_t all = 0;     // of the text, but for the first

  bool whole() const { return tokens == all; }

  double loss() const { return nll / static_cast<double>(tokens); }
  double perplexity() const { return std::exp(loss()); }
  double bits_per(std::int64_t units) const { return nll / std::numbers::ln2 / static_cast<double>(units); }
};

// Called after each group of windows.
using OnScored = std::function<void(const Score& so_far)>;

// An engine with a batch of more than 1 reads as many windows side by side, which helps where they are short. Where the
// engine is cancelled, the score is that of what was read so far.
// Throws UsageError for fewer than two tokens: there is nothing to predict.
Score score(Engine& engine, std::span<const std::int32_t> ids, const Scoring& scoring = {},
            const OnScored& on_scored = {});

// Two models that read the same text: how far the first is from the second, token by token.
struct TokenDivergence {
  std::int64_t position = 0;             // of the token that is predicted
  double divergence = 0;                 // Σ q·ln(q/p), in nats: q the second model's probabilities, p the first's
  double probability = 0, of_other = 0;  // of the token that follows in the text
  std::int32_t best = 0, best_of_other = 0;  // the likeliest tokens of both
};
struct Divergence {
  Score score, other;
  double sum = 0;                      // of all tokens
  std::int64_t equal_best = 0;         // tokens at which both have the same likeliest one
  std::vector<float> sorted;           // divergences, rising
  std::vector<TokenDivergence> worst;  // the greatest first

  double mean() const { return sum / static_cast<double>(score.tokens); }
  double quantile(double share) const;
  double median() const;  // of an even number, the mean of the two in the middle
};

// A UsageError where two models have not one vocabulary.
void check_comparable(const Model& model, const Model& other);

// Both engines have one capacity and one vocabulary: a UsageError where they don't. `worst` tokens are kept.
Divergence diverge(Engine& engine, Engine& other, std::span<const std::int32_t> ids, const Scoring& scoring = {},
                   std::int64_t worst = 10, const OnScored& on_scored = {});

}  // namespace reckon
