// Products in their three forms: x·Wᵀ + b, dy·W and dyᵀ·x.
#include "ops/matmul.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void matmul(const Call& c) {
  const auto [transpose_a, transpose_b] = c.op.attributes<MatmulAttributes>();
  const In a = c.in(0), b = c.in(1);
  const Out y = c.out(0);
  const std::size_t n = c.out_size(0, -1), width = c.in_size(0, -1);
  if (transpose_a) {  // (rows × width)ᵀ·(rows × n)
    for (std::size_t row = 0; row * width < a.size(); ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t k = 0; k < n; ++k) y[i * n + k] += a[row * width + i] * b[row * n + k];
        c.count_products(n);
      }
    }
    return;
  }
  for (std::size_t row = 0; row * width < a.size(); ++row) {
    const double* x = &a[row * width];
    double* to = &y[row * n];
    if (transpose_b) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = c.has(2) ? c.in(2)[i] : 0.0;
        for (std::size_t k = 0; k < width; ++k) sum += x[k] * b[i * width + k];
        to[i] = sum;
        c.count_products(width);
        c.count(c.has(2) ? 1 : 0);
      }
    } else {
      for (std::size_t k = 0; k < width; ++k) {
        for (std::size_t i = 0; i < n; ++i) to[i] += x[k] * b[k * n + i];
        c.count_products(n);
      }
    }
  }
}

}  // namespace reckon::reference
