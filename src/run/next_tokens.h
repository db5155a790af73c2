// What may follow a text, from the logits to the chance of being drawn: the most likely tokens, and all others
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "run/sampler.h"

namespace reckon {

struct NextToken {
  std::int32_t id = 0;
  float logit = 0;
  double model_probability = 0;  // before any option of the sampling
  Chance chance;
};

struct NextTokens {
  struct Rest {
    std::int64_t count = 0, kept = 0;
    double model_probability = 0, probability = 0;
  };
  std::vector<NextToken> tokens;  // those with the highest logits, the best first
  Rest rest;                      // all others
  std::int64_t kept = 0;          // tokens of the vocabulary that the filters leave
  std::optional<NextToken> draw;  // what u draws, where there is one
};

// A UsageError where it is not in [0, 1).
void validate_draw(double u);

// Of a row of logits, behind `history` (for the repetition penalty). `count` tokens one by one. Throws as Sampler and
// validate_draw() do.
NextTokens next_tokens(std::span<const float> logits, std::span<const std::int32_t> history, const Sampling& sampling,
                       std::int64_t count, std::optional<double> u);

const char* name_of(Filter filter);  // "top_k"; nullptr: none

}  // namespace reckon
