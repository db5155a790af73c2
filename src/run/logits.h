// Reading a row of logits: log-probabilities and the best tokens. Rows with a NaN or an infinity are refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reckon {

// A token as filters rank it: a higher score first and, of equal ones, the lower id.
struct Ranked {
  float score;
  std::int32_t id;
};
inline bool ranks_before(const Ranked& a, const Ranked& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// The greatest logit. Throws Error for a row that is empty or not all finite: its sentence names the place.
float greatest(std::span<const float> logits);

// ln Σ e^logit, so that logit − log_sum_exp is a log-probability. The sum is kept in double.
double log_sum_exp(std::span<const float> logits);

// The `count` best (all, if there are fewer) of finite logits, in order, into `best`, whose memory is used again: one
// pass over the logits, and sorting only among those that may be chosen.
void best_tokens(std::span<const float> logits, std::int64_t count, std::vector<Ranked>& best);

}  // namespace reckon
