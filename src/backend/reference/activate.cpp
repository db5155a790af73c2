// Activations, alone or as a gate, and their derivatives.
#include "ops/activate.h"

#include <reckon/error.h>

#include "backend/reference/call.h"

#include <algorithm>
#include <numbers>

namespace reckon::reference {

ActivationPoint activation_at(Activation kind, double x) {
  switch (kind) {
    case Activation::gelu: {
      const double phi = 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2));
      return {x * phi, phi + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi)};
    }
    case Activation::gelu_tanh: {
      const double root = std::sqrt(2.0 / std::numbers::pi);
      const double t = std::tanh(root * (x + 0.044715 * x * x * x));
      return {0.5 * x * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x)};
    }
    case Activation::relu:
      return {std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case Activation::relu_squared:
      return {x > 0 ? x * x : 0.0, x > 0 ? 2.0 * x : 0.0};
    case Activation::silu: {
      const double s = sigmoid(x);
      return {x * s, s * (1.0 + x * (1.0 - s))};
    }
    case Activation::sigmoid:
      return {sigmoid(x), sigmoid(x) * (1.0 - sigmoid(x))};
    case Activation::softplus:
      return {std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))), sigmoid(x)};
    case Activation::identity:
      return {x, 1.0};
    case Activation::xielu:
      break;
  }
  throw Error("[reference] got an activation that it does not know");
}

// As the formulas above are written in docs/counting.md.
ActivationOperations activation_operations_at(Activation kind) {
  switch (kind) {
    case Activation::gelu:
      return {5, 11};
    case Activation::gelu_tanh:
      return {9, 18};
    case Activation::relu:
      return {1, 1};
    case Activation::relu_squared:
      return {2, 3};
    case Activation::silu:
      return {4, 9};
    case Activation::sigmoid:
      return {4, 7};
    case Activation::identity:
      return {0, 0};
    case Activation::softplus:
      return {3, 5};
    case Activation::xielu:
      break;
  }
  return {0, 0};
}

namespace {

// gpt-oss: g·σ(1.702·g) of the clamped gate.
ActivationPoint clamped_gate(double gate, double limit) {
  const double g = std::min(gate, limit), s = sigmoid(1.702 * g);
  return {g * s, gate <= limit ? s + 1.702 * g * s * (1.0 - s) : 0.0};
}

std::size_t forward_operations(Activation kind, double limit, bool gated) {
  return limit != 0 ? 11 : activation_operations_at(kind).value + (gated ? 1 : 0);
}

std::size_t backward_operations(Activation kind, double limit, bool gated) {
  if (limit != 0) return 19;
  return activation_operations_at(kind).slope + (gated ? activation_operations_at(kind).value + 2 : 0);
}

}  // namespace

void activate(const Call& c) {
  const auto [kind, limit] = c.op.attributes<ActivateAttributes>();
  const Out y = c.out(0);
  c.count(y.size() * forward_operations(kind, limit, c.has(1)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double gate = c.in(0)[i];
    if (!c.has(1)) {
      y[i] = activation_at(kind, gate).value;
    } else if (limit == 0) {
      y[i] = activation_at(kind, gate).value * c.in(1)[i];
    } else {
      y[i] = clamped_gate(gate, limit).value * (std::clamp(c.in(1)[i], -limit, limit) + 1.0);
    }
  }
}

// Inputs: dy, gate, up.
void activate_backward(const Call& c) {
  const auto [kind, limit] = c.op.attributes<ActivateAttributes>();
  const Out d_gate = c.out(0);
  if (c.has(2)) c.out(1);
  c.count(d_gate.size() * backward_operations(kind, limit, c.has(2)));
  for (std::size_t i = 0; i < d_gate.size(); ++i) {
    const double dy = c.in(0)[i], gate = c.in(1)[i];
    if (!c.has(2)) {
      d_gate[i] = dy * activation_at(kind, gate).slope;
      continue;
    }
    const double up = c.in(2)[i];
    const ActivationPoint f = limit == 0 ? activation_at(kind, gate) : clamped_gate(gate, limit);
    const double factor = limit == 0 ? up : std::clamp(up, -limit, limit) + 1.0;
    d_gate[i] = dy * factor * f.slope;
    c.held(c.op.outputs[1])[i] = limit != 0 && std::fabs(up) > limit ? 0.0 : dy * f.value;
  }
}

}  // namespace reckon::reference
