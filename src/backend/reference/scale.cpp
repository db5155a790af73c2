#include "ops/elementwise.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void scale(const Call& c) {
  const Out y = c.out(0);
  const double factor = c.op.attributes<ScaleAttributes>().factor;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = factor * c.in(0)[i];
  c.count(y.size());
}

}  // namespace reckon::reference
