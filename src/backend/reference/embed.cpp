// Rows of a table by their ids.
#include "backend/reference/call.h"

namespace reckon::reference {

void embed(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = c.in(0)[static_cast<std::size_t>(c.in(1)[i / width]) * width + i % width];
  }
}

void embed_backward(const Call& c) {
  const Out table = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  c.count(c.in(0).size());
  for (std::size_t i = 0; i < c.in(0).size(); ++i) {
    table[static_cast<std::size_t>(c.in(1)[i / width]) * width + i % width] += c.in(0)[i];
  }
}

}  // namespace reckon::reference
