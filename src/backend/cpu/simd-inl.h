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

// e^x, to about 1 ulp; 0 for NaN and −∞. Highway's own is slow where rounding to integers is, as in WebAssembly: there
// n = x/ln 2 is rounded by adding 1.5·2²³, which leaves it in the lowest bits, and e^(x − n·ln 2) is a polynomial
// (Cephes' expf). For x up to 88; below −87.3 it is 0.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
#if HWY_TARGET == HWY_WASM
  const hn::RebindToSigned<D> integers;
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic), n = hn::Sub(shifted, magic);
  const V r = hn::Sub(hn::Sub(x, hn::Mul(n, hn::Set(d, 0.693359375f))), hn::Mul(n, hn::Set(d, -2.12194440e-4f)));
  V q = hn::Set(d, 1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    q = hn::MulAdd(q, r, hn::Set(d, c));
  const V power = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const auto bits = hn::Add(hn::BitCast(integers, power), hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -87.3f)), hn::BitCast(d, bits));
#else
  return hn::Exp(d, x);
#endif
}

// 1 / (1 + e^−x), to about 2 ulp. Beyond the clamp the result is 0 to a float's precision relative to 1.
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exponential(d, hn::Min(hn::Set(d, 88.0f), hn::Neg(x)))));
}

// Φ(x), the normal distribution: with h = |x|,  Φ(−h) = e^(−h²/2)·Q(h).  Q is a polynomial in (h − 3)/(h + 3), which
// maps [0, ∞) to [−1, 1) (the form of Shepherd and Laframboise 1981), interpolated at Chebyshev nodes for h ≤ 14.5;
// its error is below 3e-9. `bell` becomes e^(−x²/2): 0 to a float's precision where h was cut off.
template <class D, class V>
HWY_INLINE V normal_distribution(D d, V x, V& bell) {
  const V h = hn::Min(hn::Set(d, 14.5f), hn::Abs(x));
  const V three = hn::Set(d, 3.0f);
  const V u = hn::Div(hn::Sub(h, three), hn::Add(h, three));
  V q = hn::Set(d, 5.4151939e-05f);
  const float coefficients[] = {0.000116249616f, -0.000339674574f, -0.000984372195f, 0.00290447904f, 0.00613223629f,
                                -0.046213254f,   0.123225016f,     -0.206402622f,    0.121513948f};
  for (const float c : coefficients) q = hn::MulAdd(q, u, hn::Set(d, c));
  bell = exponential(d, hn::Mul(hn::Set(d, -0.5f), hn::Mul(h, h)));
  const V tail = hn::Mul(q, bell);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_SIMD_INL_H
