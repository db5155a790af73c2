// y = c·tanh(x/c)
#include "ops/elementwise.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void softcap(const Call& c) {
  const Out y = c.out(0);
  const double cap = c.op.attributes<SoftcapAttributes>().cap;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = cap * std::tanh(c.in(0)[i] / cap);
  c.count(3 * y.size());
}

// dx = dy·(1 − (y/c)²)
void softcap_backward(const Call& c) {
  const Out dx = c.out(0);
  const double cap = c.op.attributes<SoftcapAttributes>().cap;
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = c.in(0)[i] * (1.0 - std::pow(c.in(1)[i] / cap, 2));
  c.count(4 * dx.size());
}

}  // namespace reckon::reference
