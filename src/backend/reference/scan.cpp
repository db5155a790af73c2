// Heads of a recurrence, each with its state, token by token; backward from the last token to the first.
#include "ops/scan.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

// What both directions need. `first` is the input that is x.
struct Scan {
  Scan(const Call& call, std::size_t first)
      : c(call),
        rule(call.op.attributes<ScanAttributes>().rule),
        at(first),
        batch(c.in_size(at, 0)),
        tokens(c.in_size(at, 1)),
        heads(c.in_size(at, 2)),
        width(c.in_size(at, 3)),
        keyed(c.has(at + 3)),
        groups(keyed ? c.in_size(at + 3, 2) : heads),
        states(keyed ? c.in_size(at + 3, 3) : 1),
        each_state(c.in(at + 2).size() == heads * states && states > 1) {}

  std::size_t token(std::size_t b, std::size_t t) const { return b * tokens + t; }
  double x(std::size_t row, std::size_t h, std::size_t p) const { return c.in(at)[(row * heads + h) * width + p]; }
  double step(std::size_t row, std::size_t h) const { return c.has(at + 1) ? c.in(at + 1)[row * heads + h] : 1.0; }
  std::size_t decay_at(std::size_t h, std::size_t n) const { return each_state ? h * states + n : h; }
  std::size_t key_at(std::size_t row, std::size_t h, std::size_t n) const {
    return (row * groups + h / (heads / groups)) * states + n;
  }
  double key(std::size_t row, std::size_t h, std::size_t n) const {
    return keyed ? c.in(at + 3)[key_at(row, h, n)] : 1.0;
  }
  double query(std::size_t row, std::size_t h, std::size_t n) const {
    return keyed ? c.in(at + 4)[key_at(row, h, n)] : 1.0;
  }
  double skip(std::size_t h) const { return c.has(at + 5) ? c.in(at + 5)[h] : 0.0; }

  // A, and its derivative by a.
  double rate(double a) const {
    if (rule == ScanRule::state_space) return -std::exp(a);
    if (rule == ScanRule::lightning) return -a;
    return -8.0 * (std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a))));
  }
  double rate_slope(double a) const {
    return rule == ScanRule::state_space ? -std::exp(a) : rule == ScanRule::lightning ? -1.0 : -8.0 * sigmoid(a);
  }
  double alpha(std::size_t row, std::size_t h, std::size_t n) const {
    return std::exp(step(row, h) * rate(c.in(at + 2)[decay_at(h, n)]));
  }
  // What x is multiplied by before it enters the state. `begins`: of the first token of a text.
  double entry(std::size_t row, std::size_t h, bool begins) const {
    if (rule == ScanRule::state_space) return step(row, h);
    if (rule == ScanRule::lightning || begins) return 1.0;
    const double a = alpha(row, h, 0);
    return std::sqrt(1.0 - a * a);
  }

  // S ← α·S + k·(entry·x)ᵀ, of a head's state (P × N).
  void advance(double* state, std::size_t row, std::size_t h, bool begins) const {
    for (std::size_t n = 0; n < states; ++n) {
      const double a = alpha(row, h, n);
      for (std::size_t p = 0; p < width; ++p) {
        double& s = state[p * states + n];
        s = a * s + key(row, h, n) * entry(row, h, begins) * x(row, h, p);
      }
    }
  }

  const Call& c;
  ScanRule rule;
  std::size_t at, batch, tokens, heads, width;
  bool keyed;
  std::size_t groups, states;
  bool each_state;
};

// As the cost rule says: products and element-wise work for each state, for each of a and token, for each value, and
// for each of a.
struct Counts {
  std::size_t products, state, decay, value, once;
};

void count_all(const Scan& s, const Counts& n) {
  const std::size_t rows = s.batch * s.tokens, values = rows * s.heads * s.width, decays = s.c.in(s.at + 2).size();
  s.c.count_products(n.products * values * s.states);
  s.c.count(n.state * values * s.states + n.decay * rows * decays + n.value * values + n.once * decays);
}

}  // namespace

void scan(const Call& c) {
  const Scan s(c, 0);
  const bool cached = c.has(scan_input::state);
  count_all(s, s.rule == ScanRule::state_space ? Counts{2, 1, 2, 3, 2}
               : s.rule == ScanRule::lightning ? Counts{2, 1, 0, 0, 2}
                                               : Counts{0, 0, 0, 8, 4});
  const Out y = c.out(0);
  const std::size_t size = s.width * s.states;
  const bool begins = !cached || c.program.workload.past == 0;
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads; ++h) {
      double* const held = cached ? &c.held(c.op.inputs[scan_input::state])[(b * s.heads + h) * size] : nullptr;
      Values state(size);
      if (!begins) std::copy_n(held, size, state.begin());
      for (std::size_t t = 0; t < s.tokens; ++t) {
        const std::size_t row = s.token(b, t);
        s.advance(state.data(), row, h, begins && t == 0);
        for (std::size_t p = 0; p < s.width; ++p) {
          double sum = s.skip(h) * s.x(row, h, p);
          for (std::size_t n = 0; n < s.states; ++n) sum += s.query(row, h, n) * state[p * s.states + n];
          y[(row * s.heads + h) * s.width + p] = sum;
        }
      }
      if (cached) std::copy(state.begin(), state.end(), held);
    }
  }
}

// Inputs: dy, then those of the forward op; outputs: the gradients of x, step, decay, key, query and skip.
void scan_backward(const Call& c) {
  const Scan s(c, 1);
  count_all(s, s.rule == ScanRule::state_space ? Counts{5, 4, 7, 8, 3}
               : s.rule == ScanRule::lightning ? Counts{5, 2, 0, 0, 2}
                                               : Counts{0, 0, 0, 20, 9});
  for (std::size_t i = 0; i < 6; ++i)
    if (c.wants(i)) c.out(i);
  const auto to = [&](std::size_t i) { return c.wants(i) ? c.held(c.op.outputs[i]) : Out(); };
  const Out dx = to(0), d_step = to(1), d_decay = to(2), d_key = to(3), d_query = to(4), d_skip = to(5);
  const std::size_t size = s.width * s.states;
  Values states((s.tokens + 1) * size), g(size);  // the state before each token, and after the last
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads; ++h) {
      std::fill_n(states.begin(), size, 0.0);
      for (std::size_t t = 0; t < s.tokens; ++t) {
        std::copy_n(&states[t * size], size, &states[(t + 1) * size]);
        s.advance(&states[(t + 1) * size], s.token(b, t), h, t == 0);
      }
      std::fill(g.begin(), g.end(), 0.0);
      for (std::size_t t = s.tokens; t-- > 0;) {
        const std::size_t row = s.token(b, t);
        const double *before = &states[t * size], *after = before + size;
        const double entry = s.entry(row, h, t == 0);
        double d_entry = 0;
        for (std::size_t p = 0; p < s.width; ++p) {
          const double dy = c.in(0)[(row * s.heads + h) * s.width + p], x = s.x(row, h, p);
          double du = 0;
          for (std::size_t n = 0; n < s.states; ++n) {
            double& each = g[p * s.states + n];
            each += s.query(row, h, n) * dy;
            du += each * s.key(row, h, n);
            if (!s.keyed) continue;
            d_query[s.key_at(row, h, n)] += after[p * s.states + n] * dy;
            d_key[s.key_at(row, h, n)] += each * entry * x;
          }
          d_entry += du * x;
          dx[(row * s.heads + h) * s.width + p] = entry * du + s.skip(h) * dy;
          if (c.wants(5)) d_skip[h] += dy * x;
        }
        double to_step = s.rule == ScanRule::state_space ? d_entry : 0.0;
        for (std::size_t n = 0; n < s.states; ++n) {
          const double alpha = s.alpha(row, h, n), a = c.in(3)[s.decay_at(h, n)];
          double d_alpha = 0;
          for (std::size_t p = 0; p < s.width; ++p) d_alpha += g[p * s.states + n] * before[p * s.states + n];
          if (s.rule == ScanRule::rg_lru && t > 0) d_alpha -= d_entry * alpha / std::max(entry, 1.0 / 2000.0);
          to_step += d_alpha * alpha * s.rate(a);
          if (c.wants(2)) d_decay[s.decay_at(h, n)] += d_alpha * alpha * s.step(row, h) * s.rate_slope(a);
          for (std::size_t p = 0; p < s.width; ++p) g[p * s.states + n] *= alpha;
        }
        if (c.wants(1)) d_step[row * s.heads + h] = to_step;
      }
    }
  }
}

}  // namespace reckon::reference
