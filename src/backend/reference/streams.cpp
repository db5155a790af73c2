// Several streams: what each layer predicts of them, and corrects; and their magnitudes.
#include "ops/streams.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void predict(const Call& c) {
  const std::size_t n = c.op.outputs.size(), width = c.out_size(0, -1);
  for (std::size_t j = 0; j < n; ++j) {
    const Out y = c.out(j);
    for (std::size_t at = 0; at < y.size(); ++at) {
      y[at] = c.in(j)[at];
      for (std::size_t i = 0; i < n; ++i) y[at] += c.in(n)[(at / width * n + j) * n + i] * c.in(i)[at];
    }
    c.count_products(n * y.size());
    c.count(y.size());
  }
}

// Inputs: dy of each, x of each, coefficients. A dy that is absent is zero.
void predict_backward(const Call& c) {
  const std::size_t n = c.op.outputs.size() - 1, width = c.out_size(0, -1);
  const In coefficients = c.in(2 * n);
  const Out dc = c.out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Out dx = c.out(i);
    for (std::size_t at = 0; at < dx.size(); ++at) {
      for (std::size_t j = 0; j < n; ++j) {
        if (!c.has(j)) continue;
        const std::size_t place = (at / width * n + j) * n + i;
        if (i == j) dx[at] += c.in(j)[at];
        dx[at] += coefficients[place] * c.in(j)[at];
        dc[place] += c.in(j)[at] * c.in(n + i)[at];
      }
    }
    c.count_products(2 * n * dx.size());
    c.count(dx.size());
  }
}

void correct(const Call& c) {
  const std::size_t n = c.op.outputs.size(), width = c.out_size(0, -1);
  const In p = c.in(static_cast<std::size_t>(c.op.attributes<CorrectAttributes>().active)), made = c.in(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Out y = c.out(i);
    for (std::size_t at = 0; at < y.size(); ++at)
      y[at] = c.in(i)[at] + (1 + c.in(n + 1)[at / width * n + i]) * (made[at] - p[at]);
  }
  c.count((2 * n + 1) * p.size() + n * p.size() / width);
}

// Inputs: dy of each, the active prediction, what the layer made, coefficients. A dy that is absent is zero.
void correct_backward(const Call& c) {
  const std::size_t n = c.op.inputs.size() - 3, width = c.out_size(0, -1);
  const auto active = static_cast<std::size_t>(c.op.attributes<CorrectAttributes>().active);
  const In p = c.in(n), made = c.in(n + 1), coefficients = c.in(n + 2);
  const Out dp = c.out(0), d_made = c.out(1), dc = c.out(2);
  for (std::size_t at = 0; at < dp.size(); ++at) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!c.has(i)) continue;
      const std::size_t place = at / width * n + i;
      d_made[at] += (1 + coefficients[place]) * c.in(i)[at];
      dc[place] += c.in(i)[at] * (made[at] - p[at]);
    }
    dp[at] = (c.has(active) ? c.in(active)[at] : 0.0) - d_made[at];
  }
  c.count((4 * n + 1) * dp.size());
}

namespace {

double mean_square(const double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum / static_cast<double>(n);
}

}  // namespace

void magnitude(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.out_size(0, -1), rows = y.size() / width;
  for (std::size_t r = 0; r < rows; ++r) {
    const double *x = &c.in(0)[r * width], *target = &c.in(1)[r * width];
    const double ratio = std::sqrt(mean_square(target, width) / std::max(mean_square(x, width), least_magnitude));
    for (std::size_t i = 0; i < width; ++i) y[r * width + i] = ratio * x[i];
  }
  c.count(5 * y.size() + 3 * rows);
}

// Inputs: dy, x, target.
void magnitude_backward(const Call& c) {
  const Out dx = c.out(0), dt = c.out(1);
  const std::size_t width = c.out_size(0, -1), rows = dx.size() / width;
  for (std::size_t r = 0; r < rows; ++r) {
    const double *dy = &c.in(0)[r * width], *x = &c.in(1)[r * width], *target = &c.in(2)[r * width];
    const double own = mean_square(x, width), wanted = mean_square(target, width);
    const double size = std::max(own, least_magnitude), ratio = std::sqrt(wanted / size);
    double product = 0;
    for (std::size_t i = 0; i < width; ++i) product += dy[i] * x[i];
    const double mean = product / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) {
      dx[r * width + i] = ratio * dy[i] - (own > least_magnitude ? x[i] * mean * ratio / size : 0.0);
      dt[r * width + i] = target[i] * mean / std::sqrt(wanted * size);
    }
  }
  c.count(10 * dx.size() + 8 * rows);
}

}  // namespace reckon::reference
