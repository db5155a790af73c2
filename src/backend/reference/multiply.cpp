// Rows times factors that all of them share, and back; and rows that are cut short.
#include "ops/multiply.h"

#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {

void multiply(const Call& c) {
  const Out y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(1)[i % c.in(1).size()] * c.in(0)[i];
  c.count(y.size());
}

// Inputs: dy, x, w.
void multiply_backward(const Call& c) {
  const Out dx = c.out(0), dw = c.out(1);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    dx[i] = c.in(2)[i % dw.size()] * c.in(0)[i];
    dw[i % dw.size()] += c.in(0)[i] * c.in(1)[i];
  }
  c.count(3 * dx.size());
}

void take(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1), left = c.out_size(0, -1);
  for (std::size_t row = 0; row * left < y.size(); ++row) std::copy_n(&c.in(0)[row * width], left, &y[row * left]);
}

}  // namespace reckon::reference
