// What of a row is above its mean and so many deviations; and back.
#include "ops/sparsify.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

struct Moments {
  double mean, deviation;
};

Moments moments(const double* x, std::size_t n) {
  const auto count = static_cast<double>(n);
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < n; ++i) mean += x[i] / count;
  for (std::size_t i = 0; i < n; ++i) square += (x[i] - mean) * (x[i] - mean) / count;
  return {mean, std::sqrt(square)};
}

}  // namespace

void sparsify(const Call& c) {
  const double z = c.op.attributes<SparsifyAttributes>().quantile;
  const Out y = c.out(0);
  const std::size_t width = c.out_size(0, -1), rows = y.size() / width;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* x = &c.in(0)[r * width];
    const Moments m = moments(x, width);
    for (std::size_t i = 0; i < width; ++i) y[r * width + i] = std::max(x[i] - (m.mean + z * m.deviation), 0.0);
  }
  c.count(6 * y.size() + 3 * rows);
}

// Inputs: dy, x.
void sparsify_backward(const Call& c) {
  const double z = c.op.attributes<SparsifyAttributes>().quantile;
  const Out dx = c.out(0);
  const std::size_t width = c.out_size(0, -1), rows = dx.size() / width;
  for (std::size_t r = 0; r < rows; ++r) {
    const double *dy = &c.in(0)[r * width], *x = &c.in(1)[r * width];
    const Moments m = moments(x, width);
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (x[i] <= m.mean + z * m.deviation) continue;
      dx[r * width + i] = dy[i];
      sum += dy[i];
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double slope = m.deviation > 0 ? 1 + z * (x[i] - m.mean) / m.deviation : 1.0;
      dx[r * width + i] -= sum * slope / static_cast<double>(width);
    }
  }
  c.count(10 * dx.size() + 5 * rows);
}

}  // namespace reckon::reference
