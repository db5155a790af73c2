// The table's last rows are the new tokens'.
#include "ops/position_scale.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void position_scale(const Call& c) {
  const Out y = c.out(0);
  const std::size_t tokens = c.in_size(0, 1), per_token = c.in_size(0, 2) * c.in_size(0, 3);
  const std::size_t past = c.in_size(1, 0) - tokens;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[i] * c.in(1)[past + i / per_token % tokens];
  c.count(y.size());
}

}  // namespace reckon::reference
