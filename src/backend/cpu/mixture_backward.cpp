// The gradients of a mixture: back from the weighted sum to the experts' rows, their weights, and the router.
#include "ops/mixture.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>

namespace reckon {

using Scores = Mixture::Scores;

// w = scale·s, or scale·s / Σs, of the chosen; s is a softmax over all, over the chosen, or a sigmoid.
// Of each row, what the formula has is counted (docs/counting.md): not that s is made again, nor that most d are zero.
void run_route_backward(const Launch& launch) {
  const View &d_weights = launch.inputs[0], &logits = launch.inputs[1], &choice = launch.inputs[2];
  const View& d_logits = launch.outputs[0];
  const auto& a = launch.op.attributes<RouteAttributes>();
  const auto scale = static_cast<float>(a.scale);
  const std::int64_t experts = logits.width(), active = choice.width();
  std::vector<float> more;
  float* scores = launch.machine.scratch.of(0, 2 * active + experts, more).data();  // of the chosen
  float *d = scores + active, *all = d + active;
  const Measured before = work_done;
  std::int64_t operations = 0;
  for (std::int64_t r = 0; r < logits.rows(); ++r) {
    const std::int32_t* chosen = choice.integers() + r * active;
    const float* x = logits.row(r);
    float* dx = d_logits.row(r);
    for (std::int64_t i = 0; i < active; ++i) {
      scores[i] = x[chosen[i]];
      d[i] = scale * d_weights.row(r)[i];
    }
    if (a.scores == Scores::softmax) {
      std::copy_n(x, experts, all);
      vector_softmax(all, experts);
      for (std::int64_t i = 0; i < active; ++i) scores[i] = all[chosen[i]];
    } else if (a.scores == Scores::softmax_of_chosen) {
      vector_softmax(scores, active);
    } else if (a.scores == Scores::sparsemixer) {
      // Each of the chosen has a softmax of its own, over those that are near it and not chosen before.
      std::fill_n(dx, experts, 0.0f);
      for (std::int64_t i = 0; i < active; ++i) {
        float sum = 0;
        for (std::int32_t e = 0; e < experts; ++e) {
          const bool in = std::find(chosen, chosen + i, e) == chosen + i &&
                          near_best(x[e], scores[i], static_cast<float>(2 * a.jitter));
          all[e] = in ? std::exp(x[e] - scores[i]) : 0.0f;
          sum += all[e];
        }
        for (std::int64_t e = 0; e < experts; ++e) dx[e] -= d[i] / sum * all[e] / sum;
        dx[chosen[i]] += d[i] / sum;
      }
      operations += active * (4 * experts + (scale != 1.0f ? 1 : 0));
      continue;
    } else {
      for (std::int64_t i = 0; i < active; ++i) scores[i] = 1.0f / (1.0f + std::exp(-scores[i]));
    }
    if (a.normalize) {
      float sum = a.scores == Scores::sigmoid ? 1e-20f : 0.0f, mean = 0.0f;
      for (std::int64_t i = 0; i < active; ++i) sum += scores[i];
      for (std::int64_t i = 0; i < active; ++i) mean += d[i] * scores[i] / sum;
      for (std::int64_t i = 0; i < active; ++i) d[i] = (d[i] - mean) / sum;
    }
    const float mixed = vector_dot(d, scores, active);
    operations += active * ((scale != 1.0f ? 1 : 0) + (a.normalize ? 4 : 0));
    operations += a.scores == Scores::softmax ? 4 * experts : a.scores == Scores::sigmoid ? 3 * active : 4 * active;
    if (a.scores == Scores::softmax) {
      for (std::int64_t e = 0; e < experts; ++e) dx[e] = -all[e] * mixed;
      for (std::int64_t i = 0; i < active; ++i) dx[chosen[i]] += scores[i] * d[i];
      continue;
    }
    std::fill_n(dx, experts, 0.0f);
    for (std::int64_t i = 0; i < active; ++i) {
      dx[chosen[i]] = scores[i] * (a.scores == Scores::sigmoid ? d[i] * (1.0f - scores[i]) : d[i] - mixed);
    }
  }
  work_done = before;
  count_elementwise(operations);
}

void run_dispatch_backward(const Launch& launch) {
  const View &d_rows = launch.inputs[0], &order = launch.inputs[1], &dx = launch.outputs[0];
  const std::int64_t active = order.width();
  over_rows(launch.machine, dx.rows(), active * dx.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(d_rows.row(order.integers()[r * active]), dx.width(), dx.row(r));
      for (std::int64_t i = 1; i < active; ++i) {
        vector_add(dx.row(r), d_rows.row(order.integers()[r * active + i]), dx.row(r), dx.width());
      }
    }
  });
}

void run_combine_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &rows = launch.inputs[1], &weights = launch.inputs[2], &order = launch.inputs[3];
  const View &d_rows = launch.outputs[0], &d_weights = launch.outputs[1];
  const std::int64_t active = order.width();
  over_rows(launch.machine, dy.rows(), 2 * active * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      for (std::int64_t i = 0; i < active; ++i) {
        const std::int64_t place = order.integers()[r * active + i];
        if (!weights.there()) {
          std::copy_n(dy.row(r), dy.width(), d_rows.row(place));
          continue;
        }
        d_weights.row(r)[i] = vector_dot(rows.row(place), dy.row(r), dy.width());
        std::copy_n(dy.row(r), dy.width(), d_rows.row(place));
        vector_scale(d_rows.row(place), dy.width(), weights.row(r)[i]);
      }
    }
  });
}

void run_pass_identity_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &d_made = launch.outputs[0], &d_rows = launch.outputs[1];
  const std::int64_t end = launch.inputs[1].integers()[launch.op.attributes<PassIdentityAttributes>().experts];
  over_rows(launch.machine, dy.rows(), 2 * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(dy.row(r), dy.width(), (r < end ? d_made : d_rows).row(r));
      std::fill_n((r < end ? d_rows : d_made).row(r), dy.width(), 0.0f);
    }
  });
}

void run_weigh_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &rows = launch.inputs[1], &weights = launch.inputs[2], &order = launch.inputs[3];
  const View &d_rows = launch.outputs[0], &d_weights = launch.outputs[1];
  const std::int64_t active = order.width();
  over_rows(launch.machine, weights.rows(), 3 * active * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t i = first * active; i < last * active; ++i) {
      const std::int64_t place = order.integers()[i];
      d_weights.row(i / active)[i % active] = vector_dot(rows.row(place), dy.row(place), dy.width());
      std::copy_n(dy.row(place), dy.width(), d_rows.row(place));
      vector_scale(d_rows.row(place), dy.width(), weights.row(i / active)[i % active]);
    }
  });
}

// dyᵀ·x of each expert's rows. One that no token chose has no gradient.
void run_grouped_weight_gradient(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &sum = launch.outputs[0];
  const std::int32_t* first = launch.inputs[2].integers();
  const std::int64_t experts = sum.size[0], size = sum.size[1] * sum.size[2];
  const bool adds = launch.adds(sum);
  launch.products.clear();
  count_read((experts + 1) * std::int64_t{sizeof *first});
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t begin = first[e], count = first[e + 1] - begin;
    float* to = sum.floats() + e * size;
    if (count == 0) {
      if (!adds) {
        std::fill_n(to, size, 0.0f);
        count_written_floats(size);
      }
      continue;
    }
    Epilogue epilogue;
    if (adds) {
      epilogue.residual = to;
      epilogue.residual_stride = x.width();
    }
    launch.products.push_back({dy.row(begin), dy.width(), dy.width(),
                               Weight{x.row(begin), DType::float32, x.width(), count, 1, x.width(), 0, 0}, to,
                               x.width(), epilogue, true});
  }
  run_products(launch.machine, launch.products);
}

void run_grouped_bias_gradient(const Launch& launch) {
  const View &dy = launch.inputs[0], &sum = launch.outputs[0];
  const std::int32_t* first = launch.inputs[1].integers();
  const bool adds = launch.adds(sum);
  launch.machine.run(sum.size[0], [&](std::int64_t e, int) {
    float* to = sum.row(e);
    if (!adds) std::fill_n(to, sum.width(), 0.0f);
    for (std::int64_t r = first[e]; r < first[e + 1]; ++r) vector_add(to, dy.row(r), to, sum.width());
  });
}

}  // namespace reckon
