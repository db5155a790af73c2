// Mixtures of experts in float64: choosing, sorting rows by expert, the experts' products, the weighted sum.
#include "reference_call.h"

#include "ops/mixture.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reckon {
namespace {

// The places of the `count` largest, the earlier where two are equal.
std::vector<std::size_t> largest(const Values& values, std::size_t count) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  places.resize(count);
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
    if (std::find(open.begin(), open.end(), e / size) == open.end()) scores[e] = -std::numeric_limits<double>::max();
  }
}

void soften(Values& x) {
  for (double& value : x) value = std::exp(value);
  const double total = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& value : x) value /= total;
}

}  // namespace

void choose_experts(const Call& c) {
  using Scores = Mixture::Scores;
  Values &choice = c.out(0), &weights = c.out(1);
  const std::size_t experts = c.in_size(0, -1), active = c.out_size(0, -1);
  const auto& a = c.op.attributes<RouteAttributes>();
  for (std::size_t row = 0; row * active < choice.size(); ++row) {
    const auto begin = c.in(0).begin() + static_cast<std::ptrdiff_t>(row * experts);
    Values scores(begin, begin + static_cast<std::ptrdiff_t>(experts));
    if (a.scores == Scores::softmax) soften(scores);
    if (a.scores == Scores::sigmoid) std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid);
    Values candidates = scores;
    if (c.has(1)) {
      for (std::size_t e = 0; e < experts; ++e) candidates[e] += c.in(1)[e];
    }
    if (a.groups > 1) close_groups(candidates, a);
    const std::vector<std::size_t> chosen = largest(candidates, active);
    Values w;
    for (std::size_t e : chosen) w.push_back(scores[e]);
    if (a.scores == Scores::softmax_of_chosen) soften(w);
    const double total = a.normalize ? std::accumulate(w.begin(), w.end(), 0.0) : 1.0;
    for (std::size_t i = 0; i < active; ++i) {
      choice[row * active + i] = static_cast<double>(chosen[i]);
      weights[row * active + i] = a.scale * w[i] / total;
    }
  }
}

// Rows in the order of their experts; `order` says where each choice of each token went.
void dispatch_rows(const Call& c) {
  Values &rows = c.out(0), &order = c.out(1), &offsets = c.out(2);
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

void grouped_product(const Call& c) {
  Values& y = c.out(0);
  const std::size_t width = c.in_size(0, -1), n = c.out_size(0, -1);
  const Values& offsets = c.in(3);
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    for (auto row = static_cast<std::size_t>(offsets[e]); row < static_cast<std::size_t>(offsets[e + 1]); ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        double& value = y[row * n + column] = c.has(2) ? c.in(2)[e * n + column] : 0.0;
        for (std::size_t k = 0; k < width; ++k) {
          value += c.in(0)[row * width + k] * c.in(1)[(e * n + column) * width + k];
        }
      }
    }
  }
}

void combine_rows(const Call& c) {
  Values& y = c.out(0);
  const std::size_t width = c.in_size(0, -1), active = c.in_size(1, -1);
  for (std::size_t i = 0; i < c.in(1).size(); ++i) {
    const double* row = &c.in(0)[static_cast<std::size_t>(c.in(2)[i]) * width];
    for (std::size_t k = 0; k < width; ++k) y[i / active * width + k] += c.in(1)[i] * row[k];
  }
}

}  // namespace reckon
