// Choosing the next token from a row of logits: filters in a fixed order, then a draw that a seed reproduces.
#pragma once

#include <reckon/generate.h>

#include <cstdint>
#include <span>
#include <vector>

#include "run/logits.h"
#include "files/random.h"

namespace reckon {

// Throws UsageError with a sentence that names the field, what was found and what is expected.
void validate(const Sampling& sampling);

class Sampler {
 public:
  // Takes all the memory that next() will need. Throws as validate() does.
  Sampler(const Sampling& sampling, std::int64_t vocab_size);

  // The next token after `history` (which only the repetition penalty reads; ids within the vocabulary).
  // Throws Error where a logit is not finite.
  std::int32_t next(std::span<const float> logits, std::span<const std::int32_t> history);

  const Sampling& sampling() const { return sampling_; }

 private:
  std::span<const float> penalized(std::span<const float> logits, std::span<const std::int32_t> history);
  void keep_top_k(std::span<const float> scores);
  void weigh(std::span<const float> scores, float most);
  void keep_top_p(std::span<const float> scores);
  void keep_min_p();
  std::int32_t draw();

  Sampling sampling_;
  Random random_;
  std::vector<float> scores_;   // logits after the repetition penalty, where there is one
  std::vector<Ranked> ranked_;  // room to rank tokens in
  // What is left after the filters so far, in rising order of ids, so that a draw does not depend on how they rank.
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;  // e^((score − most) / temperature): the probability up to a factor, 1 for the best
};

}  // namespace reckon
