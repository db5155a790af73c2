// The products of attention, and softmax over the keys that a query may see, with ALiBi's distances and sinks. Scores
// lie as batch × heads × queries × keys; the last query sees the last key.
#include "ops/attention.h"

#include "backend/reference/call.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reckon::reference {
namespace {

// Calls body(b, h, t, s, place in the grid) for a grid of batch × heads × queries × keys.
template <class Body>
void over_grid(const Shape& grid, const Body& body) {
  const auto heads = static_cast<std::size_t>(grid[1].size), queries = static_cast<std::size_t>(grid[2].size),
             keys = static_cast<std::size_t>(grid[3].size), all = static_cast<std::size_t>(grid.elements());
  for (std::size_t i = 0; i < all; ++i) {
    body(i / (keys * queries * heads), i / (keys * queries) % heads, i / keys % queries, i % keys, i);
  }
}

// Press et al., arXiv 2108.12409: 2^(−8i/n) for n heads; where n is no power of two, the slopes of the one below it,
// then every other one of twice as many.
double slope(std::size_t head, std::size_t heads) {
  const double power = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
  const auto i = static_cast<double>(head);
  return i < power ? std::exp2(-8.0 / power * (i + 1)) : std::exp2(-4.0 / power * (2 * (i - power) + 1));
}

}  // namespace

void scores(const Call& c) {
  const Out s = c.out(0);
  const ScoresAttributes& a = c.op.attributes<ScoresAttributes>();
  const std::size_t heads = c.in_size(0, 2), kv_heads = c.in_size(1, 2), width = c.in_size(0, 3);
  over_grid(c.program[c.op.outputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* query = &c.in(0)[((b * c.in_size(0, 1) + t) * heads + h) * width];
    const double* key = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    const double raw = std::inner_product(query, query + width, key, 0.0) * a.scale;
    s[at] = a.softcap == 0 ? raw : a.softcap * std::tanh(raw / a.softcap);
    c.count_products(width);
    c.count((a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 3 : 0));
  });
}

// Back through the cap, of which the second input has the results, and the scale.
void scores_backward(const Call& c) {
  const Out d = c.out(0);
  const ScoresAttributes& a = c.op.attributes<ScoresAttributes>();
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] = c.in(0)[i] * a.scale;
    if (c.has(1)) d[i] *= 1.0 - std::pow(c.in(1)[i] / a.softcap, 2);
    c.count((a.scale != 1.0 ? 1 : 0) + (c.has(1) ? 4 : 0));
  }
}

namespace {

// To the scores of one query, those of keys that it sees being above −∞, the shifts of the keys are added; keys with
// less than the keep-th largest shift are hidden. Returns the largest score.
double shift_scores(const Call& c, std::size_t row, std::size_t heads, std::size_t queries, double* scores,
                    std::size_t keys, std::int64_t keep) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  const std::size_t batch = row / queries / heads, kv_heads = c.in_size(2, 2);
  const std::size_t head = row / queries % heads * kv_heads / heads;
  const auto shift = [&](std::size_t k) { return c.in(2)[(batch * keys + k) * kv_heads + head]; };
  Values seen;
  for (std::size_t k = 0; k < keys; ++k)
    if (scores[k] != hidden) seen.push_back(shift(k));
  double least = hidden, most = hidden;
  if (seen.size() > static_cast<std::size_t>(keep)) {
    std::nth_element(seen.begin(), seen.begin() + (keep - 1), seen.end(), std::greater<>());
    least = seen[static_cast<std::size_t>(keep - 1)];
  }
  for (std::size_t k = 0; k < keys; ++k) {
    if (scores[k] == hidden) continue;
    scores[k] = shift(k) < least ? hidden : scores[k] + shift(k);
    most = std::max(most, scores[k]);
  }
  return most;
}

}  // namespace

void softmax(const Call& c) {
  const Out p = c.out(0);
  const SoftmaxAttributes& a = c.op.attributes<SoftmaxAttributes>();
  const std::size_t heads = c.out_size(0, 1), queries = c.out_size(0, 2), keys = c.out_size(0, 3);
  const std::int64_t past = std::max<std::int64_t>(0, c.program.workload.past);  // below 0: it has no cache
  for (std::size_t row = 0; row * keys < p.size(); ++row) {
    const std::size_t head = row / queries % heads, query = row % queries;
    const double sink = c.has(1) ? c.in(1)[head] : -std::numeric_limits<double>::infinity();
    double most = sink;
    for (std::size_t k = 0; k < keys; ++k) {
      // The last query is as far along as the last key.
      const double distance = static_cast<double>(query + keys) - static_cast<double>(queries + k);
      // Windows go by distances; chunks by places in the text, of which the keys may be the last.
      const std::int64_t position = past + static_cast<std::int64_t>(query);
      const bool outside = a.mask.chunked
                               ? position - static_cast<std::int64_t>(distance) < first_seen(a.mask, position)
                               : a.mask.window > 0 && distance >= static_cast<double>(a.mask.window);
      const bool hidden = (a.mask.causal && distance < 0) || outside;
      double& score = p[row * keys + k];
      score = hidden ? -std::numeric_limits<double>::infinity()
                     : c.in(0)[row * keys + k] - a.alibi * slope(head, heads) * distance;
      if (c.has(2) && a.mask.keep == 0 && distance >= 0 && distance < static_cast<double>(c.in_size(2, 3)))
        score += c.in(2)[((row / queries / heads * queries + query) * heads + head) * c.in_size(2, 3) +
                         static_cast<std::size_t>(distance)];
      most = std::max(most, score);
    }
    if (a.mask.keep > 0) most = shift_scores(c, row, heads, queries, &p[row * keys], keys, a.mask.keep);
    double total = std::exp(sink - most);
    for (std::size_t k = 0; k < keys; ++k) total += p[row * keys + k] = std::exp(p[row * keys + k] - most);
    for (std::size_t k = 0; k < keys; ++k) p[row * keys + k] /= total;
    // Maximum, difference, exponential, sum and quotient; the first of a maximum and of a sum is free.
    const int added = !c.has(2) ? 0 : a.mask.keep > 0 ? 4 : 1;
    c.count((5 + (a.alibi != 0.0 ? 2 : 0) + added) * keys + (c.has(1) ? 4 : 0) - 2);
  }
}

// Inputs: dp, p.  ds = p·(dp − Σ dp·p); a sink's share of the row is 1 − Σ p, its gradient −share · Σ dp·p.
void softmax_backward(const Call& c) {
  const Out ds = c.out(0);
  if (c.wants(1)) c.out(1);
  if (c.op.outputs.size() > 2 && c.wants(2)) c.out(2);
  const std::size_t heads = c.out_size(0, 1), queries = c.out_size(0, 2), keys = c.out_size(0, 3);
  for (std::size_t row = 0; row * keys < ds.size(); ++row) {
    const double *dp = &c.in(0)[row * keys], *p = &c.in(1)[row * keys];
    double product = 0, share = 1;
    for (std::size_t k = 0; k < keys; ++k) {
      product += dp[k] * p[k];
      share -= p[k];
    }
    for (std::size_t k = 0; k < keys; ++k) ds[row * keys + k] = p[k] * (dp[k] - product);
    const bool shifts = c.op.outputs.size() > 2 && c.wants(2);
    c.count((c.wants(1) ? 5 * keys + 2 : 4 * keys - 1) + (shifts ? keys : 0));
    if (shifts) {
      const std::size_t kv_heads = c.out_size(2, 2), head = row / queries % heads * kv_heads / heads;
      double* to = &c.held(c.op.outputs[2])[row / queries / heads * keys * kv_heads + head];
      for (std::size_t k = 0; k < keys; ++k) to[k * kv_heads] += ds[row * keys + k];
    }
    if (c.wants(1)) c.held(c.op.outputs[1])[row / queries % heads] -= share * product;
  }
}

// Σ over keys of weight · value.
void mix(const Call& c) {
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 1), kv_heads = c.in_size(1, 2), width = c.in_size(1, 3);
  over_grid(c.program[c.op.inputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* value = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    double* sum = &y[((b * c.in_size(0, 2) + t) * heads + h) * width];
    for (std::size_t i = 0; i < width; ++i) sum[i] += c.in(0)[at] * value[i];
    c.count_products(width);
  });
}

// Σ over queries and the heads that share a key of weight · what belongs to the query.
void spread(const Call& c) {
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 1), kv_heads = c.out_size(0, 2), width = c.in_size(1, 3);
  over_grid(c.program[c.op.inputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* x = &c.in(1)[((b * c.in_size(0, 2) + t) * heads + h) * width];
    double* sum = &y[((b * c.out_size(0, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    for (std::size_t i = 0; i < width; ++i) sum[i] += c.in(0)[at] * x[i];
    c.count_products(width);
  });
}

}  // namespace reckon::reference
