// Hyper-connections: copies, weights, and what they mix.
#include "ops/hyper.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cmath>

namespace reckon {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// Each of n lines of n elements, `stride` apart, over its sum + ε; lines are `step` apart.
void divide_by_sums(float* matrix, std::int64_t n, std::int64_t step, std::int64_t stride, float epsilon) {
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = epsilon;
    for (std::int64_t j = 0; j < n; ++j) sum += matrix[i * step + j * stride];
    for (std::int64_t j = 0; j < n; ++j) matrix[i * step + j * stride] /= sum;
  }
}

void make_matrix(float* matrix, std::int64_t n, std::int64_t iterations, float epsilon) {
  for (std::int64_t i = 0; i < n; ++i) {
    float* of = matrix + i * n;
    const float most = *std::max_element(of, of + n);
    float sum = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) sum += of[j] = std::exp(of[j] - most);
    for (std::int64_t j = 0; j < n; ++j) of[j] = of[j] / sum + epsilon;
  }
  divide_by_sums(matrix, n, 1, n, epsilon);
  for (std::int64_t k = 1; k < iterations; ++k) {
    divide_by_sums(matrix, n, n, 1, epsilon);
    divide_by_sums(matrix, n, 1, n, epsilon);
  }
}

}  // namespace

void run_open_streams(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  over_rows(launch.machine, x.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t s = 0; s < y.width(); s += x.width()) std::copy_n(x.row(r), x.width(), y.row(r) + s);
  });
}

void run_hyper_weights(const Launch& launch) {
  const View &logits = launch.inputs[0], &y = launch.outputs[0];
  const float *base = launch.inputs[1].values(), *scales = launch.inputs[2].values();
  const auto& a = launch.op.attributes<HyperAttributes>();
  const std::int64_t n = a.streams, width = y.width();
  const auto epsilon = static_cast<float>(a.epsilon);
  const std::int64_t operations = width == n ? 7 * n : 12 * n + (4 * a.iterations + 6) * n * n;
  over_rows(launch.machine, y.rows(), operations, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * operations);
    for (std::int64_t r = first; r < last; ++r) {
      const float* in = logits.row(r);
      float* w = y.row(r);
      for (std::int64_t i = 0; i < width; ++i) w[i] = in[i] * scales[i < n ? 0 : i < 2 * n ? 1 : 2] + base[i];
      for (std::int64_t i = 0; i < n; ++i) w[i] = sigmoid(w[i]) + epsilon;
      if (width == n) continue;
      for (std::int64_t i = n; i < 2 * n; ++i) w[i] = 2.0f * sigmoid(w[i]);
      make_matrix(w + 2 * n, n, a.iterations, epsilon);
    }
  });
}

void run_collapse(const Launch& launch) {
  const View &x = launch.inputs[0], &weights = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t d = y.width(), n = x.width() / d;
  over_rows(launch.machine, y.rows(), 2 * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (2 * x.width() - d));
    for (std::int64_t r = first; r < last; ++r) {
      const float *in = x.row(r), *w = weights.row(r);
      float* out = y.row(r);
      for (std::int64_t i = 0; i < d; ++i) out[i] = w[0] * in[i];
      for (std::int64_t s = 1; s < n; ++s)
        for (std::int64_t i = 0; i < d; ++i) out[i] += w[s] * in[s * d + i];
    }
  });
}

void run_connect(const Launch& launch) {
  const View &x = launch.inputs[0], &weights = launch.inputs[1], &made = launch.inputs[2], &y = launch.outputs[0];
  const std::int64_t d = made.width(), n = x.width() / d;
  over_rows(launch.machine, y.rows(), 2 * n * x.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_products((last - first) * n * x.width());
    count_elementwise(2 * (last - first) * x.width());
    for (std::int64_t r = first; r < last; ++r) {
      const float *in = x.row(r), *w = weights.row(r), *new_part = made.row(r);
      for (std::int64_t s = 0; s < n; ++s) {
        float* out = y.row(r) + s * d;
        for (std::int64_t i = 0; i < d; ++i) out[i] = w[n + s] * new_part[i];
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < d; ++i) out[i] += w[2 * n + j * n + s] * in[j * d + i];
      }
    }
  });
}

}  // namespace reckon
