// A tensor for each place of an extent, and back.
#include "ops/stack.h"

#include "backend/reference/call.h"

namespace reckon::reference {

void unstack(const Call& c) {
  const std::size_t n = c.op.outputs.size(), width = c.in_size(0, -1);
  for (std::size_t p = 0; p < n; ++p) {
    const Out y = c.out(p);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[(i / width * n + p) * width + i % width];
  }
}

// A part that is absent is zero.
void stack(const Call& c) {
  const std::size_t n = c.op.inputs.size(), width = c.out_size(0, -1);
  const Out y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t p = i / width % n;
    if (c.has(p)) y[i] = c.in(p)[i / (n * width) * width + i % width];
  }
}

}  // namespace reckon::reference
