// Hyper-connections: copies, weights, and what they mix.
#include "ops/hyper.h"

#include "backend/reference/call.h"

#include <numeric>

namespace reckon::reference {

void open_streams(const Call& c) {
  const Out y = c.out(0);
  const std::size_t d = c.in_size(0, -1), all = c.out_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[i / all * d + i % d];
}

// Inputs: logits, base, scales.
void hyper_weights(const Call& c) {
  const auto& attributes = c.op.attributes<HyperAttributes>();
  const double epsilon = attributes.epsilon;
  const std::int64_t iterations = attributes.iterations;
  const auto n = static_cast<std::size_t>(attributes.streams);
  const std::size_t width = c.in_size(0, -1);
  const Out y = c.out(0);
  for (std::size_t row = 0; row * width < y.size(); ++row) {
    double* w = &y[row * width];
    for (std::size_t i = 0; i < width; ++i)
      w[i] = c.in(0)[row * width + i] * c.in(2)[i < n ? 0 : i < 2 * n ? 1 : 2] + c.in(1)[i];
    for (std::size_t i = 0; i < n; ++i) w[i] = sigmoid(w[i]) + epsilon;
    if (width == n) {
      c.count(7 * n);
      continue;
    }
    for (std::size_t i = n; i < 2 * n; ++i) w[i] = 2 * sigmoid(w[i]);
    double* matrix = w + 2 * n;
    for (std::size_t i = 0; i < n; ++i) {
      double* of = matrix + i * n;
      const double most = *std::max_element(of, of + n);
      std::transform(of, of + n, of, [&](double x) { return std::exp(x - most); });
      const double sum = std::accumulate(of, of + n, 0.0);
      std::transform(of, of + n, of, [&](double x) { return x / sum + epsilon; });
    }
    const auto divide = [&](std::size_t step, std::size_t stride) {  // lines of n elements `stride` apart
      for (std::size_t i = 0; i < n; ++i) {
        double sum = epsilon;
        for (std::size_t j = 0; j < n; ++j) sum += matrix[i * step + j * stride];
        for (std::size_t j = 0; j < n; ++j) matrix[i * step + j * stride] /= sum;
      }
    };
    divide(1, n);  // columns
    for (std::int64_t k = 1; k < iterations; ++k) {
      divide(n, 1);
      divide(1, n);
    }
    c.count(12 * n + (4 * static_cast<std::size_t>(iterations) + 6) * n * n);
  }
}

void collapse(const Call& c) {
  const Out y = c.out(0);
  const std::size_t d = c.out_size(0, -1), all = c.in_size(0, -1), width = c.in_size(1, -1);
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t s = 0; s < all / d; ++s) y[i] += c.in(1)[i / d * width + s] * c.in(0)[i / d * all + s * d + i % d];
  c.count(2 * c.in(0).size() - y.size());
}

// Inputs: streams, weights, made.
void connect(const Call& c) {
  const Out y = c.out(0);
  const std::size_t d = c.in_size(2, -1), all = c.in_size(0, -1), width = c.in_size(1, -1), n = all / d;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / all, s = i % all / d;
    const double* w = &c.in(1)[row * width];
    y[i] = w[n + s] * c.in(2)[row * d + i % d];
    for (std::size_t j = 0; j < n; ++j) y[i] += w[2 * n + j * n + s] * c.in(0)[row * all + j * d + i % d];
  }
  c.count_products(y.size() * n);
  c.count(2 * y.size());
}

}  // namespace reckon::reference
