// The gated delta rule, head by head and token by token; backward from the last token to the first.
#include "ops/delta_rule.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

// `first` is the input that is the query.
struct Delta {
  Delta(const Call& call, std::size_t first)
      : c(call),
        at(first),
        batch(c.in_size(at + 2, 0)),
        tokens(c.in_size(at + 2, 1)),
        heads(c.in_size(at + 2, 2)),
        width(c.in_size(at + 2, 3)),
        groups(c.in_size(at, 2)),
        keys(c.in_size(at, 3)),
        steps(c.in(at + 3).size() / (batch * tokens * heads)) {}

  std::size_t token(std::size_t b, std::size_t t) const { return b * tokens + t; }
  std::size_t key_at(std::size_t row, std::size_t h, std::size_t k) const {
    return (row * groups + h / (heads / groups)) * keys + k;
  }
  std::size_t step_at(std::size_t row, std::size_t h, std::size_t k) const {
    return (row * heads + h) * steps + (steps > 1 ? k : 0);
  }
  double query(std::size_t row, std::size_t h, std::size_t k) const { return c.in(at)[key_at(row, h, k)]; }
  double key(std::size_t row, std::size_t h, std::size_t k) const { return c.in(at + 1)[key_at(row, h, k)]; }
  double value(std::size_t row, std::size_t h, std::size_t v) const {
    return c.in(at + 2)[(row * heads + h) * width + v];
  }
  double beta(std::size_t row, std::size_t h) const { return c.in(at + 5)[row * heads + h]; }
  double rate(std::size_t h) const { return -std::exp(c.in(at + 4)[h]); }
  double alpha(std::size_t row, std::size_t h, std::size_t k) const {
    return std::exp(c.in(at + 3)[step_at(row, h, k)] * rate(h));
  }

  // S (K × V) after this token; `found` becomes Sᵀ·k of the decayed one.
  void advance(double* state, std::size_t row, std::size_t h, double* found) const {
    std::fill_n(found, width, 0.0);
    for (std::size_t k = 0; k < keys; ++k) {
      const double a = alpha(row, h, k);
      for (std::size_t v = 0; v < width; ++v) found[v] += (state[k * width + v] *= a) * key(row, h, k);
    }
    for (std::size_t k = 0; k < keys; ++k)
      for (std::size_t v = 0; v < width; ++v)
        state[k * width + v] += key(row, h, k) * beta(row, h) * (value(row, h, v) - found[v]);
  }

  void count(std::size_t products, std::size_t state, std::size_t step, std::size_t each, std::size_t once) const {
    const std::size_t values = batch * tokens * heads * width;
    c.count_products(products * values * keys);
    c.count(state * values * keys + step * c.in(at + 3).size() + each * values + once * heads);
  }

  const Call& c;
  std::size_t at, batch, tokens, heads, width, groups, keys, steps;
};

}  // namespace

void delta_rule(const Call& c) {
  const Delta d(c, 0);
  d.count(3, 1, 2, 2, 2);
  const Out y = c.out(0);
  const bool cached = c.has(delta_input::state);
  const std::size_t size = d.keys * d.width;
  Values found(d.width);
  for (std::size_t b = 0; b < d.batch; ++b) {
    for (std::size_t h = 0; h < d.heads; ++h) {
      double* const held = cached ? &c.held(c.op.inputs[delta_input::state])[(b * d.heads + h) * size] : nullptr;
      Values state(size);
      if (cached && c.program.workload.past > 0) std::copy_n(held, size, state.begin());
      for (std::size_t t = 0; t < d.tokens; ++t) {
        const std::size_t row = d.token(b, t);
        d.advance(state.data(), row, h, found.data());
        for (std::size_t k = 0; k < d.keys; ++k)
          for (std::size_t v = 0; v < d.width; ++v)
            y[(row * d.heads + h) * d.width + v] += state[k * d.width + v] * d.query(row, h, k);
      }
      if (cached) std::copy(state.begin(), state.end(), held);
    }
  }
}

// Inputs: dy, then those of the forward op; outputs: the gradients of query, key, value, step, decay and beta.
void delta_rule_backward(const Call& c) {
  const Delta d(c, 1);
  d.count(8, 4, 6, 6, 3);
  for (std::size_t i = 0; i < 6; ++i)
    if (c.wants(i)) c.out(i);
  const auto to = [&](std::size_t i) { return c.held(c.op.outputs[i]); };
  const Out d_query = to(0), d_key = to(1), d_value = to(2), d_step = to(3), d_beta = to(5);
  const std::size_t size = d.keys * d.width;
  Values states((d.tokens + 1) * size), g(size), found(d.tokens * d.width), d_delta(d.width);
  for (std::size_t b = 0; b < d.batch; ++b) {
    for (std::size_t h = 0; h < d.heads; ++h) {
      std::fill_n(states.begin(), size, 0.0);
      for (std::size_t t = 0; t < d.tokens; ++t) {
        std::copy_n(&states[t * size], size, &states[(t + 1) * size]);
        d.advance(&states[(t + 1) * size], d.token(b, t), h, &found[t * d.width]);
      }
      std::fill(g.begin(), g.end(), 0.0);
      for (std::size_t t = d.tokens; t-- > 0;) {
        const std::size_t row = d.token(b, t), values = (row * d.heads + h) * d.width;
        const double *before = &states[t * size], *after = before + size, beta = d.beta(row, h), rate = d.rate(h);
        std::fill(d_delta.begin(), d_delta.end(), 0.0);
        for (std::size_t k = 0; k < d.keys; ++k) {
          for (std::size_t v = 0; v < d.width; ++v) {
            const double dy = c.in(0)[values + v], missed = d.value(row, h, v) - found[t * d.width + v];
            double& each = g[k * d.width + v];
            each += d.query(row, h, k) * dy;
            d_query[d.key_at(row, h, k)] += after[k * d.width + v] * dy;
            d_delta[v] += each * d.key(row, h, k);
            d_key[d.key_at(row, h, k)] += each * beta * missed;
          }
        }
        for (std::size_t v = 0; v < d.width; ++v) {
          d_value[values + v] = beta * d_delta[v];
          d_beta[row * d.heads + h] += d_delta[v] * (d.value(row, h, v) - found[t * d.width + v]);
        }
        for (std::size_t k = 0; k < d.keys; ++k) {
          const double alpha = d.alpha(row, h, k);
          double d_alpha = 0;
          for (std::size_t v = 0; v < d.width; ++v) {
            const double d_found = -beta * d_delta[v], held = before[k * d.width + v];
            double& each = g[k * d.width + v];
            d_key[d.key_at(row, h, k)] += alpha * held * d_found;
            each += d.key(row, h, k) * d_found;
            d_alpha += each * held;
            each *= alpha;
          }
          const std::size_t step = d.step_at(row, h, k);
          d_step[step] += d_alpha * alpha * rate;
          if (c.wants(4)) to(4)[h] += d_alpha * alpha * c.in(4)[step] * rate;  // of a: A = −e^a is its own derivative
        }
      }
    }
  }
}

}  // namespace reckon::reference
