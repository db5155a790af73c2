// Choosing the next token from a row of logits: filters in a fixed order, then a draw that a seed reproduces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "run/logits.h"
#include "backend/cpu/random.h"

namespace reckon {

// The filters in the order in which they work, which is that of Hugging Face transformers
// (generation/logits_process.py) and with its meaning at the borders. At least one token, the most likely, is always
// left. With "ranks before" is meant: more likely or, of equally likely ones, with the lower id (transformers leaves
// the order of those open).
struct Sampling {
  // Over 1 makes less likely what has been in the text (the prompt included): the logit of each token that has
  // occurred, once or often, is divided by it where positive and multiplied where negative. Below 1 makes it likelier.
  // 1: off. Above 0. (Keskar et al. 2019)
  double repetition_penalty = 1;

  // Logits are divided by it. 0: greedy, the token with the highest logit, of equal ones the lowest id; nothing is
  // drawn and the filters below have no effect. 1: the model's own distribution.
  double temperature = 1;

  // Leaves the k most likely, and those as likely as the last of them. 0: off.
  std::int64_t top_k = 0;

  // Leaves a token while those that rank before it have less than this probability together: the fewest tokens that
  // reach it. Probabilities are those after top_k. In (0, 1]; 1: off. (Holtzman et al. 2019)
  double top_p = 1;

  // Leaves what is at least this many times as likely as the most likely token. In [0, 1]; 0: off. (Nguyen et al. 2024)
  double min_p = 0;

  // The same seed, logits and calls give the same tokens on every platform.
  std::uint64_t seed = 0;
};

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
