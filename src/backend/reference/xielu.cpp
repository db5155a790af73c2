#include "ops/xielu.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

struct Curve {
  double p, n, beta, epsilon;
};

Curve curve(In slopes, In shape) { return {softplus(slopes[0]), shape[0] + softplus(slopes[1]), shape[0], shape[1]}; }

}  // namespace

void xielu(const Call& c) {
  const Out y = c.out(0);
  const Curve at = curve(c.in(1), c.in(2));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = c.in(0)[i];
    y[i] = (x > 0 ? at.p * x * x : at.n * (std::expm1(std::min(x, at.epsilon)) - x)) + at.beta * x;
  }
  c.count(8 * y.size());
}

// Inputs: dy, x, slopes, shape.
void xielu_backward(const Call& c) {
  const Out dx = c.out(0);
  const Curve at = curve(c.in(2), c.in(3));
  double up = 0, down = 0;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double x = c.in(1)[i], dy = c.in(0)[i];
    if (x > 0) {
      up += dy * x * x;
      dx[i] = dy * (2 * at.p * x + at.beta);
    } else {
      down += dy * (std::expm1(std::min(x, at.epsilon)) - x);
      dx[i] = dy * (at.n * ((x < at.epsilon ? std::exp(x) : 0.0) - 1) + at.beta);
    }
  }
  c.count((c.wants(1) ? 12 : 8) * dx.size());
  if (!c.wants(1)) return;
  const Out d_slopes = c.out(1);
  d_slopes[0] = up * sigmoid(c.in(2)[0]);
  d_slopes[1] = down * sigmoid(c.in(2)[1]);
}

}  // namespace reckon::reference
