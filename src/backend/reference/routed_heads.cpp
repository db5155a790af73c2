// Rows in the order of experts as heads in that of tokens, and back.
#include "ops/routed_heads.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

// Calls body(place in heads, place in rows) for every element.
template <class Body>
void over_heads(In order, std::size_t active, std::size_t kv_heads, std::size_t width, const Body& body) {
  for (std::size_t row = 0; row < order.size(); ++row) {
    const auto from = static_cast<std::size_t>(order[row]);
    const std::size_t token = row / active, slot = row % active;
    for (std::size_t h = 0; h < kv_heads; ++h)
      for (std::size_t i = 0; i < width; ++i)
        body(((token * kv_heads + h) * active + slot) * width + i, (from * kv_heads + h) * width + i);
  }
}

}  // namespace

void gather_heads(const Call& c) {
  const std::size_t active = c.in_size(1, -1), width = c.out_size(0, -1);
  const Out y = c.out(0);
  over_heads(c.in(1), active, c.in_size(0, -1) / width, width,
             [&](std::size_t head, std::size_t row) { y[head] = c.in(0)[row]; });
}

void scatter_heads(const Call& c) {
  const std::size_t active = c.in_size(1, -1), width = c.in_size(0, -1);
  const Out y = c.out(0);
  over_heads(c.in(1), active, c.out_size(0, -1) / width, width,
             [&](std::size_t head, std::size_t row) { y[row] = c.in(0)[head]; });
}

}  // namespace reckon::reference
