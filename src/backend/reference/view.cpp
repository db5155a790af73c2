// The same elements in another shape; two parts of each row, apart and together.
#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {

void view(const Call& c) { std::copy(c.in(0).begin(), c.in(0).end(), c.out(0).begin()); }

void split(const Call& c) {
  const In x = c.in(0);
  const Out a = c.out(0), b = c.out(1);
  const std::size_t width = c.in_size(0, -1), first = c.out_size(0, -1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / width, k = i % width;
    (k < first ? a[row * first + k] : b[row * (width - first) + k - first]) = x[i];
  }
}

// A second part with one head serves all heads of the first. A part that is absent is zero.
void join(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.out_size(0, -1), rows = y.size() / width;
  const std::size_t first = c.has(0) ? c.in_size(0, -1) : width - c.in_size(1, -1), second = width - first;
  const std::size_t served = c.has(1) ? rows / (c.in(1).size() / second) : 1;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / width, k = i % width;
    if (k < first) {
      y[i] = c.has(0) ? c.in(0)[row * first + k] : 0.0;
    } else {
      y[i] = c.has(1) ? c.in(1)[row / served * second + k - first] : 0.0;
    }
  }
}

void join_backward(const Call& c) {
  const Out da = c.out(0), db = c.out(1);
  const std::size_t width = c.in_size(0, -1), first = c.out_size(0, -1), second = width - first;
  const std::size_t served = da.size() / first / (db.size() / second);
  c.count((served - 1) * db.size());
  for (std::size_t i = 0; i < c.in(0).size(); ++i) {
    const std::size_t row = i / width, k = i % width;
    (k < first ? da[row * first + k] : db[row / served * second + k - first]) += c.in(0)[i];
  }
}

}  // namespace reckon::reference
