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

template <Activation kind, class D, class V>
HWY_INLINE V activate(D d, V x) {
  if constexpr (kind == Activation::relu) return hn::Max(hn::Zero(d), x);
  if constexpr (kind == Activation::relu_squared) {
    const V positive = hn::Max(hn::Zero(d), x);
    return hn::Mul(positive, positive);
  }
  if constexpr (kind == Activation::silu) return hn::Mul(x, sigmoid(d, x));
  if constexpr (kind == Activation::gelu) return hn::Mul(x, normal_distribution(d, x));
  // ½(1 + tanh u) = σ(2u), with u = √(2/π)·(x + 0.044715·x³)
  if constexpr (kind == Activation::gelu_tanh) {
    const V cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x)), x, x);
    return hn::Mul(x, sigmoid(d, hn::Mul(hn::Set(d, 1.59576912f), cubic)));
  }
}

// gpt-oss: g = min(gate, c), u = clamp(up, ±c):  g·σ(1.702·g)·(u + 1)
template <class D, class V>
HWY_INLINE V clamped_gate(D d, V gate, V up, float clamp) {
  const V g = hn::Min(hn::Set(d, clamp), gate);
  const V u = hn::Max(hn::Set(d, -clamp), hn::Min(hn::Set(d, clamp), up));
  return hn::Mul(hn::Mul(g, sigmoid(d, hn::Mul(hn::Set(d, 1.702f), g))), hn::Add(u, hn::Set(d, 1.0f)));
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
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_ACTIVATE_INL_H
