// Rows of a table by their ids.
#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

// Beyond the table (of what layers read of tokens, Gemma 3n's knows fewer of them) is its first row.
std::size_t row_of(double id, std::size_t rows) {
  return static_cast<std::size_t>(id) < rows ? static_cast<std::size_t>(id) : 0;
}

}  // namespace

void embed(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = c.in(0)[row_of(c.in(1)[i / width], c.in_size(0, 0)) * width + i % width];
  }
}

void embed_backward(const Call& c) {
  const Out table = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  c.count(c.in(0).size());
  for (std::size_t i = 0; i < c.in(0).size(); ++i) {
    table[row_of(c.in(1)[i / width], c.out_size(0, 0)) * width + i % width] += c.in(0)[i];
  }
}

}  // namespace reckon::reference
