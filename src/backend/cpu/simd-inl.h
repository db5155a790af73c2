// Vectors of floats for every kernel: how stored types are read, sums in a fixed order, and the functions that
// networks need. Included once per instruction set by files that use Highway's foreach_target.

#if defined(RECKON_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RECKON_SIMD_INL_H
#undef RECKON_SIMD_INL_H
#else
#define RECKON_SIMD_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using OneFloat = hn::CappedTag<float, 1>;  // the same functions on one element, for what is left over at the end

// Registers decide how many sums a kernel keeps at once.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int vector_registers = 32;
#else
constexpr int vector_registers = 16;
#endif

// Stored numbers as floats.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), from));
}

// g++ reads a vector again from memory for each use of it in a loop; this makes it stay in its register. By value: an
// array whose elements were named in the statement would be stored to memory in every step.
template <class V>
HWY_INLINE V kept(V v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Halves `count` vectors until each sum has one lane: neighbours are added, and what belongs to the next vector goes to
// the upper half. An odd one out is paired with itself.
template <int count, std::size_t lanes, class D, class V>
HWY_INLINE void add_neighbours([[maybe_unused]] D d, [[maybe_unused]] V* vectors) {
#if HWY_TARGET != HWY_SCALAR  // which has one lane, and no such functions
  if constexpr (lanes > 1) {
    constexpr int half = (count + 1) / 2;
    HWY_UNROLL(8)
    for (int i = 0; i < half; ++i) {
      const V a = vectors[2 * i], b = vectors[2 * i + 1 < count ? 2 * i + 1 : 2 * i];
      vectors[i] = hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
    }
    add_neighbours<half, lanes / 2>(d, vectors);
  }
#endif
}

// sums[i] = the sum of vectors[i]'s lanes, as a tree of neighbours: its order depends on the number of lanes alone.
// `sums` has room for `count` rounded up to whole vectors. Destroys vectors.
template <int count, class D, class V>
HWY_INLINE void sums_of_lanes(D d, V* vectors, float* sums) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  add_neighbours<count, hn::MaxLanes(D())>(d, vectors);
  HWY_UNROLL(8)
  for (int i = 0; i * lanes < count; ++i) hn::StoreU(vectors[i], d, sums + i * lanes);
}

// Constants of a kernel that needs more of them than there are registers. Browsers make a vector constant anew from two
// immediate numbers in every step of a loop, where it finds no register; what is read from memory is one instruction.
HWY_INLINE const float* in_memory(const float* constants) {
#if HWY_TARGET == HWY_WASM
  asm("" : "+r"(constants));
#endif
  return constants;
}

// e^x, to about 1 ulp; 0 for NaN and −∞. Highway's own is slow where rounding to integers is, as in WebAssembly: there
// n = x/ln 2 is rounded by adding 1.5·2²³, which leaves it in the lowest bits, and r = x − n·ln 2 is taken in two
// steps, as Cephes' expf does. e^r = 1 + r + r²·q(r), where q is the polynomial whose greatest error is the least,
// 3e-9. For x up to 88; below −87.3 it is 0. Made outside of a loop, its constants are read once.
#if HWY_TARGET == HWY_WASM
template <class D>
class Exponential {
 public:
  using V = hn::Vec<D>;
  HWY_INLINE explicit Exponential(D d) {
    static constexpr float values[] = {12582912.0f,    1.44269504f,    0.693359375f, -2.12194440e-4f, -87.3f,     1.0f,
                                       0.00138145941f, 0.00836871937f, 0.041668389f, 0.166665211f,    0.49999994f};
    const float* from = in_memory(values);
    for (int i = 0; i < 11; ++i) c_[i] = hn::Set(d, from[i]);
  }
  HWY_INLINE V operator()(V x) const {
    const D d;
    const hn::RebindToSigned<D> integers;
    const V shifted = hn::MulAdd(x, c_[1], c_[0]), n = hn::Sub(shifted, c_[0]);
    const V r = hn::Sub(hn::Sub(x, hn::Mul(n, c_[2])), hn::Mul(n, c_[3]));
    V q = c_[6];
    for (int i = 7; i < 11; ++i) q = hn::MulAdd(q, r, c_[i]);
    const V power = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), c_[5]);
    const auto bits = hn::Add(hn::BitCast(integers, power), hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
    return hn::And(hn::VecFromMask(d, hn::Ge(x, c_[4])), hn::BitCast(d, bits));
  }

 private:
  V c_[11];
};
#else
template <class D>
class Exponential {
 public:
  HWY_INLINE explicit Exponential(D) {}
  HWY_INLINE hn::Vec<D> operator()(hn::Vec<D> x) const { return hn::Exp(D(), x); }
};
#endif

template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  return Exponential<D>(d)(x);
}

// 1 / (1 + e^−x), to about 2 ulp. Beyond the clamp the result is 0 to a float's precision relative to 1.
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exponential(d, hn::Min(hn::Set(d, 88.0f), hn::Neg(x)))));
}

// What GELU and its derivative are made of: with h = |x|,  Φ(−h) = bell·ratio, where bell = e^(−h²/2).
template <class V>
struct NormalTail {
  V h, bell, ratio;
};

// The ratio is a polynomial in (h − 3)/(h + 3), which maps [0, ∞) to [−1, 1) (the form of Shepherd and Laframboise
// 1981), and bell = 2^t with t = n + f, where n is the nearest integer, found as in `Exponential`, and 2^f another
// polynomial. Both are those whose greatest error is the least: 1.4e-9 of h·Φ(−h), and 9e-8 of bell, relative to it.
// Beyond 12.5, where both are 0 to a float's precision relative to 1, h is cut off.
template <class D, class V>
HWY_INLINE NormalTail<V> normal_tail(D d, V x) {
  static constexpr float constants[] = {
      12.5f,          3.0f,           -0.721347520f,    12582912.0f,     1.0f,          0.693147004f, 0.240222424f,
      0.0555073358f,  0.00967151299f, 0.00132647273f,   0.12151394f,     -0.206401959f, 0.123238057f, -0.0461250991f,
      0.00642241957f, 0.00340413442f, -0.000572569494f, -0.000275237981f};
  const float* c = in_memory(constants);
  const hn::RebindToSigned<D> integers;
  const V h = hn::Min(hn::Set(d, c[0]), hn::Abs(x));
  const V three = hn::Set(d, c[1]), magic = hn::Set(d, c[3]);
  const V u = hn::Div(hn::Sub(h, three), hn::Add(h, three));
  V ratio = hn::Set(d, c[17]);
  for (int i = 16; i >= 10; --i) ratio = hn::MulAdd(ratio, u, hn::Set(d, c[i]));
  const V t = hn::Mul(hn::Mul(h, h), hn::Set(d, c[2]));
  const V shifted = hn::Add(t, magic), f = hn::Sub(t, hn::Sub(shifted, magic));
  V power = hn::Set(d, c[9]);
  for (int i = 8; i >= 4; --i) power = hn::MulAdd(power, f, hn::Set(d, c[i]));
  const auto bits = hn::Add(hn::BitCast(integers, power), hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
  return {h, hn::BitCast(d, bits), ratio};
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_SIMD_INL_H
