// Each head with a matrix of its own.
#include "ops/block_matmul.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void block_matmul(const Call& c) {
  const bool transposed = c.op.attributes<BlockMatmulAttributes>().transposed;
  const In x = c.in(0), weight = c.in(1);
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 2), in = c.in_size(0, 3), out = c.out_size(0, 3), rows = y.size() / out;
  c.count_products(rows * in * out);
  if (c.has(2)) c.count(y.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const double* matrix = &weight[r % heads * in * out];
    for (std::size_t n = 0; n < out; ++n) {
      double sum = c.has(2) ? c.in(2)[r % heads * out + n] : 0.0;
      for (std::size_t k = 0; k < in; ++k) sum += x[r * in + k] * matrix[transposed ? k * out + n : n * in + k];
      y[r * out + n] = sum;
    }
  }
}

// Inputs: dy, x.
void block_weight_gradient(const Call& c) {
  const In dy = c.in(0), x = c.in(1);
  const Out dw = c.out(0);
  const std::size_t heads = c.in_size(0, 2), out = c.in_size(0, 3), in = c.in_size(1, 3), rows = dy.size() / out;
  c.count_products(rows * in * out);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t n = 0; n < out; ++n)
      for (std::size_t k = 0; k < in; ++k) dw[(r % heads * out + n) * in + k] += dy[r * out + n] * x[r * in + k];
}

}  // namespace reckon::reference
