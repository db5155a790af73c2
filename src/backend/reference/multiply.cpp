// Rows times factors that all of them share, and back.
#include "ops/multiply.h"

#include "backend/reference/call.h"

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

}  // namespace reckon::reference
