// Softmax over the keys that a query may see, with ALiBi's distances and sinks.
#include "ops/attention.h"

#include "backend/reference/call.h"

#include <algorithm>
#include <limits>

namespace reckon::reference {
namespace {

// Press et al., arXiv 2108.12409: 2^(−8i/n) for n heads; where n is no power of two, the slopes of the one below it,
// then every other one of twice as many.
double slope(std::size_t head, std::size_t heads) {
  const double power = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
  const auto i = static_cast<double>(head);
  return i < power ? std::exp2(-8.0 / power * (i + 1)) : std::exp2(-4.0 / power * (2 * (i - power) + 1));
}

}  // namespace

void softmax(const Call& c) {
  const Out p = c.out(0);
  const SoftmaxAttributes& a = c.op.attributes<SoftmaxAttributes>();
  const std::size_t heads = c.out_size(0, 1), queries = c.out_size(0, 2), keys = c.out_size(0, 3);
  for (std::size_t row = 0; row * keys < p.size(); ++row) {
    const std::size_t head = row / queries % heads, query = row % queries;
    const double sink = c.has(1) ? c.in(1)[head] : -std::numeric_limits<double>::infinity();
    double most = sink;
    for (std::size_t k = 0; k < keys; ++k) {
      // The last query is as far along as the last key.
      const double distance = static_cast<double>(query + keys) - static_cast<double>(queries + k);
      const bool hidden =
          (a.mask.causal && distance < 0) || (a.mask.window > 0 && distance >= static_cast<double>(a.mask.window));
      double& score = p[row * keys + k];
      score = hidden ? -std::numeric_limits<double>::infinity()
                     : c.in(0)[row * keys + k] - a.alibi * slope(head, heads) * distance;
      most = std::max(most, score);
    }
    double total = std::exp(sink - most);
    for (std::size_t k = 0; k < keys; ++k) total += p[row * keys + k] = std::exp(p[row * keys + k] - most);
    for (std::size_t k = 0; k < keys; ++k) p[row * keys + k] /= total;
    // Maximum, difference, exponential, sum and quotient; the first of a maximum and of a sum is free.
    c.count((a.alibi != 0.0 ? 7 : 5) * keys + (c.has(1) ? 4 : 0) - 2);
  }
}

// Inputs: dp, p.  ds = p·(dp − Σ dp·p); a sink's share of the row is 1 − Σ p, its gradient −share · Σ dp·p.
void softmax_backward(const Call& c) {
  const Out ds = c.out(0);
  if (c.wants(1)) c.out(1);
  const std::size_t heads = c.out_size(0, 1), queries = c.out_size(0, 2), keys = c.out_size(0, 3);
  for (std::size_t row = 0; row * keys < ds.size(); ++row) {
    const double *dp = &c.in(0)[row * keys], *p = &c.in(1)[row * keys];
    double product = 0, share = 1;
    for (std::size_t k = 0; k < keys; ++k) {
      product += dp[k] * p[k];
      share -= p[k];
    }
    for (std::size_t k = 0; k < keys; ++k) ds[row * keys + k] = p[k] * (dp[k] - product);
    c.count(c.wants(1) ? 5 * keys + 2 : 4 * keys - 1);
    if (c.wants(1)) c.held(c.op.outputs[1])[row / queries % heads] -= share * product;
  }
}

}  // namespace reckon::reference
