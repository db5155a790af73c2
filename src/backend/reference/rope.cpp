// Pairs of each head are rotated by the angles of their token. The table holds cosines, then sines; its last rows are
// the new tokens'.
#include "ops/rope.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void rope(const Call& c) {
  const auto [interleaved, inverse, trailing] = c.op.attributes<RopeAttributes>();
  const Out y = c.out(0);
  std::copy(c.in(0).begin(), c.in(0).end(), y.begin());
  const std::size_t tokens = c.in_size(0, 1), heads = c.in_size(0, 2), width = c.in_size(0, 3);
  const std::size_t half = c.in_size(1, -1) / 2, past = c.in_size(1, 0) - tokens;
  const std::size_t first_element = trailing ? width - 2 * half : 0;
  for (std::size_t row = 0; row * width < y.size(); ++row) {
    const double* angles = &c.in(1)[(past + row / heads % tokens) * 2 * half];
    c.count(6 * half);
    for (std::size_t i = 0; i < half; ++i) {
      double& a = y[row * width + first_element + (interleaved ? 2 * i : i)];
      double& b = y[row * width + first_element + (interleaved ? 2 * i + 1 : i + half)];
      const double cosine = angles[i], sine = inverse ? -angles[half + i] : angles[half + i], first = a, second = b;
      a = first * cosine - second * sine;
      b = first * sine + second * cosine;
    }
  }
}

}  // namespace reckon::reference
