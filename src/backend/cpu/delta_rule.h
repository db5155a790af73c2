// What the loops of the delta rule are given, apart from how it is bound.
#pragma once

#include <cstdint>

namespace reckon {

// One sequence.
struct DeltaText {
  std::int64_t tokens, heads, groups, keys, width;  // K, V
  std::int64_t steps;                               // of a head: 1 or K
  const float *query, *key, *value, *step, *beta;  // each token by token: groups · K, heads · V, heads · steps, heads
  const float* rates;                              // −e^a of each head

  std::int64_t key_at(std::int64_t t, std::int64_t head) const { return (t * groups + head / (heads / groups)) * keys; }
  std::int64_t value_at(std::int64_t t, std::int64_t head) const { return (t * heads + head) * width; }
  std::int64_t step_at(std::int64_t t, std::int64_t head) const { return (t * heads + head) * steps; }
};

// What goes backwards of one sequence; d_key and d_query are added to.
struct DeltaGradients {
  const float* dy;
  float *d_query, *d_key, *d_value, *d_step, *d_beta, *d_rates;
  float *states, *missed, *g, *d_delta;  // room for (tokens + 1)·K·V, tokens · V, K·V and V
};

}  // namespace reckon
