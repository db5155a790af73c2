// The activations on vectors. Included once per instruction set, after simd-inl.h's manner.

#if defined(RECKON_ACTIVATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RECKON_ACTIVATE_INL_H
#undef RECKON_ACTIVATE_INL_H
#else
#define RECKON_ACTIVATE_INL_H
#endif

#include <reckon/model.h>

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// max(0, x), where NaN stays. Which operand a maximum takes where one is not a number is up to the compiler;
// WebAssembly's is defined, and the comparison would become its maximum of eight instructions.
template <class D, class V>
HWY_INLINE V positive(D d, V x) {
#if HWY_TARGET == HWY_WASM
  return hn::Max(hn::Zero(d), x);
#else
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
#endif
}

template <Activation kind, class D, class V>
HWY_INLINE V activate(D d, V x) {
  if constexpr (kind == Activation::relu) return positive(d, x);
  if constexpr (kind == Activation::relu_squared) return hn::Mul(positive(d, x), positive(d, x));
  if constexpr (kind == Activation::silu) return hn::Mul(x, sigmoid(d, x));
  if constexpr (kind == Activation::sigmoid) return hn::IfThenElse(hn::IsNaN(x), x, sigmoid(d, x));
  if constexpr (kind == Activation::identity) return x;
  // ln(1 + e^x) = max(0, x) + ln(1 + e^−|x|)
  if constexpr (kind == Activation::softplus)
    return hn::Add(positive(d, x), hn::Log1p(d, exponential(d, hn::Neg(hn::Abs(x)))));
  // x·Φ(x) = max(0, x) − h·Φ(−h)
  if constexpr (kind == Activation::gelu) {
    const auto tail = normal_tail(d, x);
    return hn::Sub(positive(d, x), hn::Mul(hn::Mul(tail.h, tail.ratio), tail.bell));
  }
  // ½(1 + tanh u) = σ(2u), with u = √(2/π)·(x + 0.044715·x³)
  if constexpr (kind == Activation::gelu_tanh) {
    const V cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x)), x, x);
    return hn::Mul(x, sigmoid(d, hn::Mul(hn::Set(d, 1.59576912f), cubic)));
  }
}

// act'(x)
template <Activation kind, class D, class V>
HWY_INLINE V derivative(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  if constexpr (kind == Activation::relu) return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  if constexpr (kind == Activation::relu_squared) return hn::Mul(hn::Set(d, 2.0f), positive(d, x));
  if constexpr (kind == Activation::identity) return one;
  if constexpr (kind == Activation::sigmoid) {
    const V s = sigmoid(d, x);
    return hn::Mul(s, hn::Sub(one, s));
  }
  if constexpr (kind == Activation::silu) {
    const V s = sigmoid(d, x);
    return hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
  }
  if constexpr (kind == Activation::sigmoid) {
    const V s = sigmoid(d, x);
    return hn::Mul(s, hn::Sub(one, s));
  }
  if constexpr (kind == Activation::softplus) return sigmoid(d, x);
  // Φ(x) + x·φ(x), with φ = e^(−½x²)/√2π: of −h it is Φ(−h) − h·φ(h), and of h as much less than 1
  if constexpr (kind == Activation::gelu) {
    const auto tail = normal_tail(d, x);
    const V below = hn::Mul(hn::NegMulAdd(hn::Set(d, 0.39894228f), tail.h, tail.ratio), tail.bell);
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Sub(one, below));
  }
  // With s = σ(2u): s + x·s·(1 − s)·(2u)'
  if constexpr (kind == Activation::gelu_tanh) {
    const V square = hn::Mul(x, x), twice = hn::Set(d, 1.59576912f);
    const V s = sigmoid(d, hn::Mul(twice, hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), square), x, x)));
    const V slope = hn::Mul(twice, hn::MulAdd(hn::Set(d, 3.0f * 0.044715f), square, one));
    return hn::MulAdd(hn::Mul(x, slope), hn::Mul(s, hn::Sub(one, s)), s);
  }
}

// gpt-oss: g = min(gate, c), u = clamp(up, ±c):  g·σ(1.702·g)·(u + 1)
template <class D, class V>
HWY_INLINE V clamped_gate(D d, V gate, V up, float clamp) {
  const V g = hn::Min(hn::Set(d, clamp), gate);
  const V u = hn::Max(hn::Set(d, -clamp), hn::Min(hn::Set(d, clamp), up));
  return hn::Mul(hn::Mul(g, sigmoid(d, hn::Mul(hn::Set(d, 1.702f), g))), hn::Add(u, hn::Set(d, 1.0f)));
}

// Its gradient; what a clamp cut off has none.
template <class D, class V>
HWY_INLINE void clamped_gate_backward(D d, V dy, V gate, V up, float clamp, V& d_gate, V& d_up) {
  const V most = hn::Set(d, clamp), least = hn::Set(d, -clamp), one = hn::Set(d, 1.0f), slope = hn::Set(d, 1.702f);
  const V g = hn::Min(most, gate), u = hn::Max(least, hn::Min(most, up));
  const V s = sigmoid(d, hn::Mul(slope, g));
  const V steep = hn::MulAdd(hn::Mul(slope, g), hn::Mul(s, hn::Sub(one, s)), s);
  d_gate = hn::IfThenElseZero(hn::Le(gate, most), hn::Mul(hn::Mul(dy, hn::Add(u, one)), steep));
  d_up = hn::IfThenElseZero(hn::And(hn::Le(up, most), hn::Ge(up, least)), hn::Mul(dy, hn::Mul(g, s)));
}

template <Activation kind>
struct ActivationConstant {
  static constexpr Activation value = kind;
};

// Calls body with the activation as a compile-time constant, so that the choice stands outside its loop.
template <class Body>
HWY_INLINE void with_activation(Activation kind, const Body& body) {
  switch (kind) {
    case Activation::gelu:
      return body(ActivationConstant<Activation::gelu>());
    case Activation::gelu_tanh:
      return body(ActivationConstant<Activation::gelu_tanh>());
    case Activation::relu:
      return body(ActivationConstant<Activation::relu>());
    case Activation::relu_squared:
      return body(ActivationConstant<Activation::relu_squared>());
    case Activation::silu:
      return body(ActivationConstant<Activation::silu>());
    case Activation::sigmoid:
      return body(ActivationConstant<Activation::sigmoid>());
    case Activation::identity:
      return body(ActivationConstant<Activation::identity>());
    case Activation::softplus:
      return body(ActivationConstant<Activation::softplus>());
    case Activation::xielu:  // an operation of its own
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_ACTIVATE_INL_H
