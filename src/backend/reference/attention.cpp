// The products of attention. Scores lie as batch × heads × queries × keys; the last query sees the last key.
#include "ops/attention.h"

#include "backend/reference/call.h"

#include <numeric>

namespace reckon::reference {
namespace {

// Calls body(b, h, t, s, place in the grid) for a grid of batch × heads × queries × keys.
template <class Body>
void over_grid(const Shape& grid, const Body& body) {
  const auto heads = static_cast<std::size_t>(grid[1].size), queries = static_cast<std::size_t>(grid[2].size),
             keys = static_cast<std::size_t>(grid[3].size), all = static_cast<std::size_t>(grid.elements());
  for (std::size_t i = 0; i < all; ++i) {
    body(i / (keys * queries * heads), i / (keys * queries) % heads, i / keys % queries, i % keys, i);
  }
}

}  // namespace

void scores(const Call& c) {
  const Out s = c.out(0);
  const ScoresAttributes& a = c.op.attributes<ScoresAttributes>();
  const std::size_t heads = c.in_size(0, 2), kv_heads = c.in_size(1, 2), width = c.in_size(0, 3);
  over_grid(c.program[c.op.outputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* query = &c.in(0)[((b * c.in_size(0, 1) + t) * heads + h) * width];
    const double* key = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    const double raw = std::inner_product(query, query + width, key, 0.0) * a.scale;
    s[at] = a.softcap == 0 ? raw : a.softcap * std::tanh(raw / a.softcap);
    c.count_products(width);
    c.count((a.scale != 1.0 ? 1 : 0) + (a.softcap != 0.0 ? 3 : 0));
  });
}

// Back through the cap, of which the second input has the results, and the scale.
void scores_backward(const Call& c) {
  const Out d = c.out(0);
  const ScoresAttributes& a = c.op.attributes<ScoresAttributes>();
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] = c.in(0)[i] * a.scale;
    if (c.has(1)) d[i] *= 1.0 - std::pow(c.in(1)[i] / a.softcap, 2);
    c.count((a.scale != 1.0 ? 1 : 0) + (c.has(1) ? 4 : 0));
  }
}

// Σ over keys of weight · value.
void mix(const Call& c) {
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 1), kv_heads = c.in_size(1, 2), width = c.in_size(1, 3);
  over_grid(c.program[c.op.inputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* value = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    double* sum = &y[((b * c.in_size(0, 2) + t) * heads + h) * width];
    for (std::size_t i = 0; i < width; ++i) sum[i] += c.in(0)[at] * value[i];
    c.count_products(width);
  });
}

// Σ over queries and the heads that share a key of weight · what belongs to the query.
void spread(const Call& c) {
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 1), kv_heads = c.out_size(0, 2), width = c.in_size(1, 3);
  over_grid(c.program[c.op.inputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* x = &c.in(1)[((b * c.in_size(0, 2) + t) * heads + h) * width];
    double* sum = &y[((b * c.out_size(0, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    for (std::size_t i = 0; i < width; ++i) sum[i] += c.in(0)[at] * x[i];
    c.count_products(width);
  });
}

}  // namespace reckon::reference
