// Mixtures of experts: choosing, sorting rows by expert, the experts' products, the weighted sum; and back.
#include "ops/mixture.h"

#include "backend/reference/call.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reckon::reference {
namespace {

using Scores = Mixture::Scores;

// The places of the `count` largest, the earlier where two are equal.
std::vector<std::size_t> largest(const Values& values, std::size_t count) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  places.resize(std::min(count, places.size()));
  return places;
}

void close_groups(Values& scores, const RouteAttributes& a) {
  const auto groups = static_cast<std::size_t>(a.groups), size = scores.size() / groups;
  Values group_scores(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(g * size);
    const Values group(begin, begin + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i : largest(group, static_cast<std::size_t>(a.group_top))) group_scores[g] += group[i];
  }
  const std::vector<std::size_t> open = largest(group_scores, static_cast<std::size_t>(a.active_groups));
  for (std::size_t e = 0; e < scores.size(); ++e) {
    if (std::find(open.begin(), open.end(), e / size) != open.end()) continue;
    scores[e] = a.closed_as_zero ? 0.0 : -std::numeric_limits<double>::max();
  }
}

void soften(Values& x) {
  const double most = *std::max_element(x.begin(), x.end());
  for (double& value : x) value = std::exp(value - most);
  const double total = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& value : x) value /= total;
}

// What experts are weighted by, before those chosen are normalised and scaled.
Values expert_scores(Scores kind, const double* logits, std::size_t experts) {
  Values scores(logits, logits + experts);
  if (kind == Scores::softmax) soften(scores);
  if (kind == Scores::root_softplus)
    std::transform(scores.begin(), scores.end(), scores.begin(),
                   [](double x) { return std::sqrt(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)))); });
  if (kind == Scores::sigmoid) std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid);
  return scores;
}

// sparsemixer: what the i-th of the chosen takes its softmax of, with 0 for all others.
Values near_and_open(const double* logits, std::size_t experts, const std::vector<std::size_t>& chosen, std::size_t i,
                     double jitter) {
  Values shares(experts);
  const auto before = chosen.begin() + static_cast<std::ptrdiff_t>(i);
  const double best = logits[chosen[i]];
  double total = 0;
  for (std::size_t e = 0; e < experts; ++e) {
    if (std::find(chosen.begin(), before, e) != before || !near_best(logits[e], best, 2 * jitter)) continue;
    total += shares[e] = std::exp(logits[e] - best);
  }
  for (double& share : shares) share /= total;
  return shares;
}

// Of one token: softmax 5n − 2 or sigmoid 4n, the correction, the groups' best and the best groups, the best k by k
// passes of comparisons, and what normalises and scales their weights.
std::size_t route_operations(const RouteAttributes& a, std::size_t experts, std::size_t active, bool corrected,
                             bool chooses) {
  const auto groups = static_cast<std::size_t>(a.groups), top = static_cast<std::size_t>(a.group_top);
  std::size_t sum = chooses ? active * (experts - 1) : 0;
  if (a.scores == Scores::sigmoid) sum += 4 * experts;
  if (a.scores == Scores::root_softplus) sum += 5 * experts;
  if (a.scores == Scores::softmax) sum += 5 * experts - 2;
  if (a.scores == Scores::softmax_of_chosen) sum += 5 * active - 2;
  if (a.scores == Scores::sparsemixer) sum += active * (10 * experts - 2);
  if (corrected) sum += experts - static_cast<std::size_t>(a.always);
  if (groups > 1) {
    sum += groups * (top * (experts / groups - 1) + top - 1);
    sum += static_cast<std::size_t>(a.active_groups) * (groups - 1);
  }
  if (a.normalize) sum += 2 * active - 1;
  if (a.scale != 1.0) sum += active;
  return sum;
}

}  // namespace

void route(const Call& c) {
  const RouteAttributes& a = c.op.attributes<RouteAttributes>();
  const Out choice = c.out(0), weights = c.out(1);
  const std::size_t experts = c.in_size(0, -1), active = c.out_size(0, -1);
  for (std::size_t row = 0; row * active < choice.size(); ++row) {
    const Values scores = expert_scores(a.scores, &c.in(0)[row * experts], experts);
    Values candidates = scores;
    if (c.has(1)) {
      for (std::size_t e = 0; e < c.in(1).size(); ++e) candidates[e] += c.in(1)[e];
    }
    for (std::size_t e = experts - static_cast<std::size_t>(a.always); e < experts; ++e)
      candidates[e] = std::numeric_limits<double>::infinity();
    if (a.groups > 1) close_groups(candidates, a);
    std::vector<std::size_t> chosen = largest(candidates, active);
    for (std::size_t i = 0; c.has(2) && i < active; ++i)
      chosen[i] = static_cast<std::size_t>(c.in(2)[static_cast<std::size_t>(c.in(3)[row]) * active + i]);
    Values w;
    for (std::size_t e : chosen) w.push_back(scores[e]);
    if (a.scores == Scores::softmax_of_chosen) soften(w);
    if (a.scores == Scores::sparsemixer) {
      for (std::size_t i = 0; i < active; ++i)
        w[i] = near_and_open(&c.in(0)[row * experts], experts, chosen, i, a.jitter)[chosen[i]];
    }
    const double total = a.normalize ? std::accumulate(w.begin(), w.end(), 0.0) : 1.0;
    c.count(route_operations(a, experts, active, c.has(1), !c.has(2)));
    for (std::size_t i = 0; i < active; ++i) {
      choice[row * active + i] = static_cast<double>(chosen[i]);
      weights[row * active + i] = a.scale * w[i] / total;
    }
  }
}

// Inputs: d_weights, logits, choice. Back through scale, normalisation, and softmax or sigmoid.
void route_backward(const Call& c) {
  const RouteAttributes& a = c.op.attributes<RouteAttributes>();
  const Out d_logits = c.out(0);
  const std::size_t experts = c.in_size(1, -1), active = c.in_size(0, -1);
  for (std::size_t row = 0; row * active < c.in(0).size(); ++row) {
    const Values scores = expert_scores(a.scores, &c.in(1)[row * experts], experts);
    const double* choice = &c.in(2)[row * active];
    if (a.scores == Scores::sparsemixer) {
      std::vector<std::size_t> chosen(choice, choice + active);
      for (std::size_t i = 0; i < active; ++i) {
        const Values shares = near_and_open(&c.in(1)[row * experts], experts, chosen, i, a.jitter);
        const double d = a.scale * c.in(0)[row * active + i] * shares[chosen[i]];
        for (std::size_t e = 0; e < experts; ++e) d_logits[row * experts + e] -= d * shares[e];
        d_logits[row * experts + chosen[i]] += d;
      }
      c.count(active * (4 * experts + (a.scale != 1.0 ? 1 : 0)));
      continue;
    }
    Values w, d(active);
    for (std::size_t i = 0; i < active; ++i) w.push_back(scores[static_cast<std::size_t>(choice[i])]);
    if (a.scores == Scores::softmax_of_chosen) soften(w);
    const double total = a.normalize ? std::accumulate(w.begin(), w.end(), 0.0) : 1.0;
    double mean = 0;
    for (std::size_t i = 0; i < active; ++i) {
      d[i] = a.scale * c.in(0)[row * active + i];
      mean += d[i] * w[i] / total;
    }
    double product = 0;  // Σ of what each score gets, times the score
    for (std::size_t i = 0; i < active; ++i) {
      if (a.normalize) d[i] = (d[i] - mean) / total;
      product += d[i] * w[i];
    }
    c.count((a.scale != 1.0 ? active : 0) + (a.normalize ? 4 * active : 0));
    c.count(a.scores == Scores::softmax             ? 4 * experts
            : a.scores == Scores::softmax_of_chosen ? 4 * active
                                                    : 3 * active);
    double* to = &d_logits[row * experts];
    if (a.scores == Scores::softmax) {
      for (std::size_t e = 0; e < experts; ++e) to[e] = -scores[e] * product;
    }
    for (std::size_t i = 0; i < active; ++i) {
      double& place = to[static_cast<std::size_t>(choice[i])];
      if (a.scores == Scores::softmax) place += w[i] * d[i];
      if (a.scores == Scores::softmax_of_chosen) place = w[i] * (d[i] - product);
      if (a.scores == Scores::sigmoid) place = d[i] * w[i] * (1.0 - w[i]);
    }
  }
}

// Rows in the order of their experts; `order` says where each choice of each token went.
void dispatch(const Call& c) {
  const Out rows = c.out(0), order = c.out(1), offsets = c.out(2);
  const std::size_t width = c.in_size(0, -1), active = c.in_size(1, -1);
  std::size_t place = 0;
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    offsets[e] = static_cast<double>(place);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (c.in(1)[i] != static_cast<double>(e)) continue;
      std::copy_n(&c.in(0)[i / active * width], width, &rows[place * width]);
      order[i] = static_cast<double>(place++);
    }
  }
  offsets.back() = static_cast<double>(place);
}

// Inputs: d_rows, order.
void dispatch_backward(const Call& c) {
  const Out dx = c.out(0);
  const std::size_t width = c.in_size(0, -1), active = c.in_size(1, -1);
  for (std::size_t i = 0; i < c.in(1).size(); ++i) {
    const double* row = &c.in(0)[static_cast<std::size_t>(c.in(1)[i]) * width];
    for (std::size_t k = 0; k < width; ++k) dx[i / active * width + k] += row[k];
  }
  c.count(c.in(1).size() * width - dx.size());  // the first of each sum is free
}

namespace {

// Calls body(expert, row) for every row of so many experts; those behind them are identity experts'.
template <class Body>
void over_experts(In offsets, std::size_t experts, const Body& body) {
  for (std::size_t e = 0; e < experts; ++e) {
    for (auto row = static_cast<std::size_t>(offsets[e]); row < static_cast<std::size_t>(offsets[e + 1]); ++row) {
      body(e, row);
    }
  }
}

}  // namespace

void grouped_matmul(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1), n = c.out_size(0, -1);
  const bool transposed = c.op.attributes<GroupedMatmulAttributes>().transpose_b;
  over_experts(c.in(3), c.in_size(1, 0), [&](std::size_t e, std::size_t row) {
    const double *x = &c.in(0)[row * width], *weight = &c.in(1)[e * n * width];
    for (std::size_t i = 0; i < n; ++i) {
      double& sum = y[row * n + i] = c.has(2) ? c.in(2)[e * n + i] : 0.0;
      for (std::size_t k = 0; k < width; ++k) sum += x[k] * weight[transposed ? i * width + k : k * n + i];
      c.count_products(width);
      c.count(c.has(2) ? 1 : 0);
    }
  });
}

// Inputs: dy, rows, offsets.
void grouped_weight_gradient(const Call& c) {
  const Out dw = c.out(0);  // experts × n × width
  const std::size_t n = c.in_size(0, -1), width = c.in_size(1, -1);
  over_experts(c.in(2), c.out_size(0, 0), [&](std::size_t e, std::size_t row) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < width; ++k)
        dw[(e * n + i) * width + k] += c.in(0)[row * n + i] * c.in(1)[row * width + k];
      c.count_products(width);
    }
  });
}

// Inputs: dy, offsets.
void grouped_bias_gradient(const Call& c) {
  const Out db = c.out(0);
  const std::size_t n = c.in_size(0, -1);
  over_experts(c.in(1), c.out_size(0, 0), [&](std::size_t e, std::size_t row) {
    for (std::size_t i = 0; i < n; ++i) db[e * n + i] += c.in(0)[row * n + i];
    c.count(n);
  });
}

void combine(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1), active = c.in_size(2, -1);
  for (std::size_t i = 0; i < c.in(2).size(); ++i) {
    const double* row = &c.in(0)[static_cast<std::size_t>(c.in(2)[i]) * width];
    const double weight = c.has(1) ? c.in(1)[i] : 1.0;
    for (std::size_t k = 0; k < width; ++k) y[i / active * width + k] += weight * row[k];
  }
  c.count((c.has(1) ? 2 : 1) * c.in(2).size() * width - y.size());
}

void pass_identity(const Call& c) {
  const Out y = c.out(0);
  const auto experts = static_cast<std::size_t>(c.op.attributes<PassIdentityAttributes>().experts);
  const std::size_t end = static_cast<std::size_t>(c.in(2)[experts]) * c.in_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i < end ? c.in(0)[i] : c.has(1) ? c.in(1)[i] : 0.0;
}

// Inputs: dy, offsets.
void pass_identity_backward(const Call& c) {
  const Out d_made = c.out(0), d_rows = c.out(1);
  const auto experts = static_cast<std::size_t>(c.op.attributes<PassIdentityAttributes>().experts);
  const std::size_t end = static_cast<std::size_t>(c.in(1)[experts]) * c.in_size(0, -1);
  for (std::size_t i = 0; i < d_made.size(); ++i) (i < end ? d_made : d_rows)[i] = c.in(0)[i];
}

void weigh(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  for (std::size_t i = 0; i < c.in(1).size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(c.in(2)[i]) * width;
    for (std::size_t k = 0; k < width; ++k) y[place + k] = c.in(1)[i] * c.in(0)[place + k];
  }
  c.count(y.size());
}

// Inputs: dy, rows, weights, order.
void weigh_backward(const Call& c) {
  const Out d_rows = c.out(0), d_weights = c.out(1);
  const std::size_t width = c.in_size(1, -1);
  for (std::size_t i = 0; i < c.in(2).size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(c.in(3)[i]) * width;
    for (std::size_t k = 0; k < width; ++k) {
      d_rows[place + k] = c.in(2)[i] * c.in(0)[place + k];
      d_weights[i] += c.in(1)[place + k] * c.in(0)[place + k];
    }
    c.count(3 * width - 1);
  }
}

// Inputs: dy, rows, weights, order.
void combine_backward(const Call& c) {
  const Out d_rows = c.out(0), d_weights = c.wants(1) ? c.out(1) : Out();
  const std::size_t width = c.out_size(0, -1), active = c.in_size(3, -1);
  for (std::size_t i = 0; i < c.in(3).size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(c.in(3)[i]) * width;
    for (std::size_t k = 0; k < width; ++k) {
      const double dy = c.in(0)[i / active * width + k];
      if (!c.has(2)) {
        d_rows[place + k] = dy;
        continue;
      }
      d_rows[place + k] = c.in(2)[i] * dy;
      d_weights[i] += c.in(1)[place + k] * dy;
    }
    c.count(c.has(2) ? 3 * width - 1 : 0);
  }
}

}  // namespace reckon::reference
