// Each head with its own rows of the weight (heads · per head × rank): into the latent, or out of it.
#include "ops/head_matmul.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void head_matmul(const Call& c) {
  const auto [first, into_latent] = c.op.attributes<HeadMatmulAttributes>();
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 2), in = c.in_size(0, 3), out = c.out_size(0, 3), rank = c.in_size(1, 1);
  const std::size_t per_head = c.in_size(1, 0) / heads;
  for (std::size_t row = 0; row * in < c.in(0).size(); ++row) {
    const double* x = &c.in(0)[row * in];
    const double* weight = &c.in(1)[(row % heads * per_head + static_cast<std::size_t>(first)) * rank];
    for (std::size_t i = 0; i < out; ++i) {
      for (std::size_t k = 0; k < in; ++k) y[row * out + i] += x[k] * weight[into_latent ? k * rank + i : i * rank + k];
      c.count_products(in);
    }
  }
}

}  // namespace reckon::reference
