// log(1 + e^(x + b)), and its gradient, which is none where a limit holds.
#include "ops/softplus.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

std::size_t limits_of(const SoftplusAttributes& a) { return (a.low > 0 ? 1 : 0) + (a.high > 0 ? 1 : 0); }

}  // namespace

void softplus(const Call& c) {
  const auto& a = c.op.attributes<SoftplusAttributes>();
  const Out y = c.out(0);
  c.count(y.size() * (3 + (c.has(1) ? 1 : 0) + limits_of(a)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = softplus_of(c.in(0)[i] + (c.has(1) ? c.in(1)[i % c.in(1).size()] : 0.0));
    if (a.low > 0) y[i] = std::max(y[i], a.low);
    if (a.high > 0) y[i] = std::min(y[i], a.high);
  }
}

// Inputs: dy, x, bias.
void softplus_backward(const Call& c) {
  const auto& a = c.op.attributes<SoftplusAttributes>();
  const Out dx = c.out(0), db = c.wants(1) ? c.out(1) : Out();
  c.count(dx.size() * (5 + (c.has(2) ? 1 : 0) + (c.wants(1) ? 1 : 0) + limits_of(a)));
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double x = c.in(1)[i] + (c.has(2) ? c.in(2)[i % c.in(2).size()] : 0.0), y = softplus_of(x);
    const bool free = (a.low == 0 || y >= a.low) && (a.high == 0 || y <= a.high);
    dx[i] = free ? c.in(0)[i] * sigmoid(x) : 0.0;
    if (c.wants(1)) db[i % db.size()] += dx[i];
  }
}

}  // namespace reckon::reference
