// Operations on each element by itself, and sums over rows.
#include "ops/elementwise.h"

#include "files/random.h"
#include "backend/reference/call.h"

namespace reckon::reference {

void add(const Call& c) {
  const Out y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[i] + c.in(1)[i % c.in(1).size()];
  c.count(y.size());
}

// The gradient of what was added to every row.
void sum_rows(const Call& c) {
  const Out y = c.out(0);
  for (std::size_t i = 0; i < c.in(0).size(); ++i) y[i % y.size()] += c.in(0)[i];
  c.count(c.in(0).size() - y.size());  // the first of each sum is free
}

void scale(const Call& c) {
  const Out y = c.out(0);
  const double factor = c.op.attributes<ScaleAttributes>().factor;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = factor * c.in(0)[i];
  c.count(y.size());
}

// y = c·tanh(x/c)
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

void clip(const Call& c) {
  const Out y = c.out(0);
  const auto [limit, above] = c.op.attributes<ClipAttributes>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double most = std::min(c.in(0)[i], limit);
    y[i] = above ? most : std::max(most, -limit);
  }
  c.count((above ? 1 : 2) * y.size());
}

// Inputs: dy, x.
void clip_backward(const Call& c) {
  const Out dx = c.out(0);
  const auto [limit, above] = c.op.attributes<ClipAttributes>();
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double x = c.in(1)[i];
    dx[i] = x <= limit && (above || x >= -limit) ? c.in(0)[i] : 0.0;
  }
  c.count((above ? 1 : 2) * dx.size());
}

// What is dropped is told by the hash of (seed, layer, stream, element); the rest is divided by 1 − p.
void dropout(const Call& c) {
  const Out y = c.out(0);
  const auto [probability, stream] = c.op.attributes<DropoutAttributes>();
  const std::uint64_t seed = mixed(mixed(c.step().seed + static_cast<std::uint64_t>(c.op.scope.layer + 1)) +
                                   static_cast<std::uint64_t>(stream));
  c.count(c.step().drops ? 2 * y.size() : 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool dropped = c.step().drops && static_cast<double>(mixed(seed + i) >> 11) * 0x1p-53 < probability;
    y[i] = !c.step().drops ? c.in(0)[i] : dropped ? 0.0 : c.in(0)[i] / (1.0 - probability);
  }
}

}  // namespace reckon::reference
