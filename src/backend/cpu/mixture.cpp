// Mixtures of experts: choosing, sorting rows by expert, the weighted sum.
#include "ops/mixture.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reckon {
namespace {

using Scores = Mixture::Scores;

// Indices of the `count` largest values, the lower index first where two are equal: so many passes over them.
void largest(const float* values, std::int64_t n, std::int64_t count, std::int32_t* chosen) {
  count_elementwise(count * (n - 1));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t best = -1;
    for (std::int32_t j = 0; j < n; ++j) {
      if (std::find(chosen, chosen + i, j) != chosen + i) continue;
      if (best < 0 || values[j] > values[best]) best = j;
    }
    chosen[i] = best;
  }
}

// Experts outside the best groups cannot be chosen. `group_scores` and `open` have room for every group, `best` for the
// experts of one.
void close_groups(float* choice, std::int64_t experts, const RouteAttributes& a, float* group_scores,
                  std::int32_t* open, std::int32_t* best) {
  const std::int64_t groups = a.groups, size = experts / groups, top = a.group_top;
  for (std::int64_t g = 0; g < groups; ++g) {
    largest(choice + g * size, size, top, best);
    group_scores[g] = 0;
    for (std::int64_t i = 0; i < top; ++i) group_scores[g] += choice[g * size + best[i]];
    count_elementwise(top - 1);
  }
  largest(group_scores, groups, a.active_groups, open);
  float closed = 0;
  if (!a.closed_as_zero) closed = -std::numeric_limits<float>::infinity();
  for (std::int32_t g = 0; g < groups; ++g) {
    if (std::find(open, open + a.active_groups, g) != open + a.active_groups) continue;
    std::fill_n(choice + g * size, size, closed);
  }
}

// Of each of the chosen: its share of a softmax over those that are nearly as good and not chosen before it.
void sparsemixer(const float* logits, std::int64_t experts, double jitter, const std::int32_t* chosen,
                 std::int64_t active, float* weights) {
  const auto limit = static_cast<float>(2 * jitter);
  count_elementwise(active * (10 * experts - 2));
  for (std::int64_t i = 0; i < active; ++i) {
    const float best = logits[chosen[i]];
    float sum = 0;
    for (std::int32_t e = 0; e < experts; ++e) {
      if (std::find(chosen, chosen + i, e) != chosen + i) continue;
      if (near_best(logits[e], best, limit)) sum += std::exp(logits[e] - best);
    }
    weights[i] = 1.0f / sum;
  }
}

}  // namespace

void run_route(const Launch& launch) {
  const View &logits = launch.inputs[0], &correction = launch.inputs[1];
  const View &choice = launch.outputs[0], &weights = launch.outputs[1];
  const auto& a = launch.op.attributes<RouteAttributes>();
  const std::int64_t experts = logits.width(), active = choice.width();
  const auto scale = static_cast<float>(a.scale);
  const float* table = launch.inputs.size() > 2 ? launch.inputs[2].floats() : nullptr;  // of the experts of tokens
  std::vector<float> more;
  float* scratch = launch.machine.scratch.of(0, 5 * experts, more).data();
  float *scores = scratch, *candidates = scratch + experts, *group_scores = scratch + 2 * experts;
  auto* open = reinterpret_cast<std::int32_t*>(scratch + 3 * experts);
  auto* best = reinterpret_cast<std::int32_t*>(scratch + 4 * experts);
  for (std::int64_t r = 0; r < logits.rows(); ++r) {
    std::copy_n(logits.row(r), experts, scores);
    if (a.scores == Scores::softmax) vector_softmax(scores, experts);
    if (a.scores == Scores::sigmoid) {
      for (std::int64_t e = 0; e < experts; ++e) scores[e] = 1.0f / (1.0f + std::exp(-scores[e]));
      count_elementwise(4 * experts);
    }
    if (a.scores == Scores::root_softplus) {
      for (std::int64_t e = 0; e < experts; ++e)
        scores[e] = std::sqrt(std::max(scores[e], 0.0f) + std::log1p(std::exp(-std::fabs(scores[e]))));
      count_elementwise(5 * experts);
    }
    std::copy_n(scores, experts, candidates);
    if (correction.there()) {
      const float* moved = correction.values();
      vector_add(candidates, moved, candidates, experts - a.always);
    }
    std::fill_n(candidates + experts - a.always, a.always, std::numeric_limits<float>::infinity());
    if (a.groups > 1) close_groups(candidates, experts, a, group_scores, open, best);
    std::int32_t* chosen = choice.integers() + r * active;
    if (table != nullptr) {
      const float* row = table + std::int64_t{launch.inputs[3].integers()[r]} * active;
      std::transform(row, row + active, chosen, [](float expert) { return static_cast<std::int32_t>(expert); });
    } else {
      largest(candidates, experts, active, chosen);
    }
    float* w = weights.row(r);
    for (std::int64_t i = 0; i < active; ++i) w[i] = scores[chosen[i]];
    if (a.scores == Scores::softmax_of_chosen) vector_softmax(w, active);
    if (a.scores == Scores::sparsemixer) sparsemixer(scores, experts, a.jitter, chosen, active, w);
    if (a.normalize) {
      float sum = 0;
      for (std::int64_t i = 0; i < active; ++i) sum += w[i];
      count_elementwise(active - 1);
      // DeepSeek V3 guards the division of sigmoids, which may all be tiny.
      vector_scale(w, active,
                   1.0f / (a.scores == Scores::sigmoid || a.scores == Scores::root_softplus ? sum + 1e-20f : sum));
    }
    if (scale != 1.0f) vector_scale(w, active, scale);
  }
}

// A stable counting sort: within an expert, rows keep the order of their tokens.
void run_dispatch(const Launch& launch) {
  const View &x = launch.inputs[0], &choice = launch.inputs[1];
  const View &rows = launch.outputs[0], &order = launch.outputs[1], &offsets = launch.outputs[2];
  const std::int64_t active = choice.width(), total = choice.rows() * active;
  const std::int32_t* chosen = choice.integers();
  std::int32_t *first = offsets.integers(), *place = order.integers();
  const std::int64_t experts = offsets.size[0] - 1;
  std::fill_n(first, experts + 1, 0);
  for (std::int64_t i = 0; i < total; ++i) ++first[chosen[i] + 1];
  for (std::int64_t e = 0; e < experts; ++e) first[e + 1] += first[e];
  for (std::int64_t i = 0; i < total; ++i) place[i] = first[chosen[i]]++;  // where token i/k's i%k-th choice goes
  for (std::int64_t e = experts; e > 0; --e) first[e] = first[e - 1];
  first[0] = 0;
  over_rows(launch.machine, total, x.width(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) std::copy_n(x.row(i / active), x.width(), rows.row(place[i]));
  });
}

void run_combine(const Launch& launch) {
  const View &rows = launch.inputs[0], &weights = launch.inputs[1], &order = launch.inputs[2], &y = launch.outputs[0];
  const std::int64_t active = order.width();
  const std::int32_t* place = order.integers();
  over_rows(launch.machine, y.rows(), active * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      if (!weights.there()) {
        std::copy_n(rows.row(place[r * active]), y.width(), y.row(r));
        for (std::int64_t i = 1; i < active; ++i)
          vector_add(y.row(r), rows.row(place[r * active + i]), y.row(r), y.width());
        continue;
      }
      std::fill_n(y.row(r), y.width(), 0.0f);
      for (std::int64_t i = 0; i < active; ++i) {
        vector_add_scaled(y.row(r), rows.row(place[r * active + i]), y.width(), weights.row(r)[i]);
      }
      count_elementwise(-y.width());  // the first was added to zeros
    }
  });
}

void run_pass_identity(const Launch& launch) {
  const View &made = launch.inputs[0], &rows = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t end = launch.inputs[2].integers()[launch.op.attributes<PassIdentityAttributes>().experts];
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      if (r < end || rows.there()) {
        std::copy_n((r < end ? made : rows).row(r), y.width(), y.row(r));
      } else {
        std::fill_n(y.row(r), y.width(), 0.0f);
      }
    }
  });
}

void run_weigh(const Launch& launch) {
  const View &rows = launch.inputs[0], &weights = launch.inputs[1], &order = launch.inputs[2], &y = launch.outputs[0];
  const std::int64_t active = order.width();
  over_rows(launch.machine, weights.rows(), 2 * active * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t i = first * active; i < last * active; ++i) {
      const std::int64_t place = order.integers()[i];
      std::copy_n(rows.row(place), y.width(), y.row(place));
      vector_scale(y.row(place), y.width(), weights.row(i / active)[i % active]);
    }
  });
}

}  // namespace reckon
