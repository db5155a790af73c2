// What the loops of a scan are given, apart from how it is bound.
#pragma once

#include "ops/scan.h"

#include <cstdint>

namespace reckon {

// One sequence as the loops below have it. Of what a rule does not have, pointers are null.
struct ScanText {
  ScanRule rule;
  bool begins;      // the first of its tokens is that of the text
  bool each_state;  // decays are one for each of a head's N
  std::int64_t tokens, heads, groups, width, states;
  const float *x, *step, *key, *query;  // each token by token: heads · width, heads, groups · states
  const float *rates, *skip;            // A of each head, or of each of its states; D

  std::int64_t group(std::int64_t head) const { return head / (heads / groups); }
  const float* x_of(std::int64_t t, std::int64_t head) const { return x + (t * heads + head) * width; }
  float step_of(std::int64_t t, std::int64_t head) const { return step != nullptr ? step[t * heads + head] : 1.0f; }
  std::int64_t key_at(std::int64_t t, std::int64_t head) const { return (t * groups + group(head)) * states; }
};

// What goes backwards of one sequence; d_key and d_query are added to.
struct ScanGradients {
  const float* dy;
  float *dx, *d_step, *d_rates, *d_key, *d_query, *d_skip;
  float *states, *g, *alphas, *d_alphas;  // room for (tokens + 1)·P·N, P·N, N and N
};

}  // namespace reckon
