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

// What can take a token out of a draw.
enum class Filter : std::uint8_t { none, greedy, top_k, top_p, min_p };

// What became of one token on the way to a draw.
struct Chance {
  float scaled = 0;  // its logit after the repetition penalty, divided by the temperature (greedy: as it is)
  Filter removed = Filter::none;  // the first that took it out
  double probability = 0;         // of being drawn
  double from = 0, to = 0;        // the u in [from, to) draw it
};

class Sampler {
 public:
  // Takes all the memory that next() will need. Throws as validate() does.
  Sampler(const Sampling& sampling, std::int64_t vocab_size);

  // The next token after `history` (which only the repetition penalty reads; ids within the vocabulary).
  // Throws Error where a logit is not finite.
  std::int32_t next(std::span<const float> logits, std::span<const std::int32_t> history);

  // The same in two steps, to be looked at: what becomes of every token of a row, by its id; then the one that a number
  // from [0, 1) draws of it.
  std::vector<Chance> chances(std::span<const float> logits, std::span<const std::int32_t> history);
  std::int32_t draw(double u) const;

  const Sampling& sampling() const { return sampling_; }

 private:
  // `told` is called with each filter that has worked; it may be empty.
  template <class Told>
  std::span<const float> filter(std::span<const float> logits, std::span<const std::int32_t> history, const Told& told);
  std::span<const float> penalized(std::span<const float> logits, std::span<const std::int32_t> history);
  void keep_top_k(std::span<const float> scores);
  void weigh(std::span<const float> scores, float most);
  void keep_top_p(std::span<const float> scores);
  void keep_min_p();
  double total_weight() const;

  Sampling sampling_;
  Random random_;
  std::vector<float> scores_;   // logits after the repetition penalty, where there is one
  std::vector<Ranked> ranked_;  // room to rank tokens in
  // What is left after the filters so far, in rising order of ids, so that a draw does not depend on how they rank.
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;  // e^((score − most) / temperature): the probability up to a factor, 1 for the best
};

}  // namespace reckon
