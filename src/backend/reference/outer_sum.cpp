// Sums of each of one half with each of the other; and back.
#include "ops/outer_sum.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void outer_sum(const Call& c) {
  const std::size_t n = c.in_size(0, -1) / 2;
  const Out y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* x = &c.in(0)[i / (n * n) * 2 * n];
    y[i] = x[i / n % n] + x[n + i % n];
  }
  c.count(y.size());
}

void outer_sum_backward(const Call& c) {
  const std::size_t n = c.out_size(0, -1) / 2;
  const In dy = c.in(0);
  const Out dx = c.out(0);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    double* to = &dx[i / (n * n) * 2 * n];
    to[i / n % n] += dy[i];
    to[n + i % n] += dy[i];
  }
  c.count(2 * dy.size() - dx.size());
}

}  // namespace reckon::reference
