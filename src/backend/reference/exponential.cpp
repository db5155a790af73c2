// e^(w·x), and its gradient.
#include "ops/exponential.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void exponential(const Call& c) {
  const Out y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::exp(c.in(1)[i % c.in(1).size()] * c.in(0)[i]);
  c.count(2 * y.size());
}

// Inputs: dy, x, w, y.
void exponential_backward(const Call& c) {
  const Out dx = c.out(0), dw = c.wants(1) ? c.out(1) : Out();
  const std::size_t width = c.in(2).size();
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double through = c.in(0)[i] * c.in(3)[i];
    dx[i] = through * c.in(2)[i % width];
    if (c.wants(1)) dw[i % width] += through * c.in(1)[i];
  }
  c.count((c.wants(1) ? 4 : 2) * dx.size());
}

}  // namespace reckon::reference
