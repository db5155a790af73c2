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

// c₀ + c₁x + … + c₅x⁵. Pairs of terms depend on x alone (Estrin's scheme), so that they are computed beside each other.
template <class V>
HWY_INLINE V polynomial(V x, V c0, V c1, V c2, V c3, V c4, V c5) {
  const V square = hn::Mul(x, x);
  const V low = hn::MulAdd(c1, x, c0), middle = hn::MulAdd(c3, x, c2), high = hn::MulAdd(c5, x, c4);
  return hn::MulAdd(hn::MulAdd(high, square, middle), square, low);
}

// e^x; 0 for NaN and −∞. Highway's own is slow where rounding to integers is, as in WebAssembly: there e^x = 2^t with
// t = x/ln 2 = n + f, where n is the nearest integer, found by adding 1.5·2²³ + 127, which leaves the exponent of 2^n
// in the lowest bits. 2^f is the polynomial whose greatest error is the least, 9e-8. As t is rounded, the whole is as
// exact as if x were: to about 2 ulp for |x| < 1, and 2·|x| ulp beyond. For x up to 88; below −87.7 it is 0. Made
// outside of a loop, its constants are read once.
#if HWY_TARGET == HWY_WASM
template <class D>
class Exponential {
 public:
  using V = hn::Vec<D>;
  HWY_INLINE explicit Exponential(D d) {
    static constexpr float values[] = {12583039.0f,  1.44269504f,   -127.0f,        1.0f,          0.693147004f,
                                       0.240222424f, 0.0555073358f, 0.00967151299f, 0.00132647273f};
    const float* from = in_memory(values);
    for (int i = 0; i < 9; ++i) c_[i] = hn::Set(d, from[i]);
  }
  HWY_INLINE V operator()(V x) const {
    const D d;
    const hn::RebindToSigned<D> integers;
    const V t = hn::Max(hn::Mul(x, c_[1]), c_[2]);
    const V shifted = hn::Add(t, c_[0]), f = hn::Sub(t, hn::Sub(shifted, c_[0]));
    const V whole = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));  // 2^n
    return hn::Mul(whole, polynomial(f, c_[3], c_[4], c_[5], c_[6], c_[7], c_[8]));
  }

 private:
  V c_[9];
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

// The ratio is a polynomial in (h − 3.5)/(h + 3.5), which maps [0, ∞) to [−1, 1) (the form of Shepherd and Laframboise
// 1981), and bell = 2^t with t = n + f, where n is the nearest integer, found as in `Exponential`, and 2^f another
// polynomial. Both are those whose greatest error is the least: 9e-9 of h·Φ(−h), and 9e-8 of bell, relative to it.
// Beyond 12.5, where both are 0 to a float's precision relative to 1, h is cut off.
template <class D, class V>
HWY_INLINE NormalTail<V> normal_tail(D d, V x) {
  static constexpr float constants[] = {
      12.5f,        3.5f,           -0.721347520f,  12583039.0f,      1.0f,           0.693147004f,
      0.240222424f, 0.0555073358f,  0.00967151299f, 0.00132647273f,   0.10634613f,    -0.187117949f,
      0.126022086f, -0.0610378422f, 0.0201632995f,  -0.000657694589f, -0.00134501001f};
  const float* from = in_memory(constants);
  const auto c = [&](int i) HWY_ATTR { return hn::Set(d, from[i]); };
  const hn::RebindToSigned<D> integers;
  const V h = hn::Min(c(0), hn::Abs(x));
  const V u = hn::Div(hn::Sub(h, c(1)), hn::Add(h, c(1)));
  const V t = hn::Mul(hn::Mul(h, h), c(2)), magic = c(3);
  const V shifted = hn::Add(t, magic), f = hn::Sub(t, hn::Sub(shifted, magic));
  const V whole = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
  const V bell = hn::Mul(whole, polynomial(f, c(4), c(5), c(6), c(7), c(8), c(9)));
  const V square = hn::Mul(u, u);
  const V high = hn::MulAdd(c(16), square, hn::MulAdd(c(15), u, c(14)));
  const V middle = hn::MulAdd(c(13), u, c(12)), low = hn::MulAdd(c(11), u, c(10));
  return {h, bell, hn::MulAdd(hn::MulAdd(high, square, middle), square, low)};
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_SIMD_INL_H
