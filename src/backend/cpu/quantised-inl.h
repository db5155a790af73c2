// The blocks of GGUF as vectors of small integers with their scales, and products of these with activations in 8 bits.
// Included once per instruction set, without a guard: not each has it in every file. Each including file has a
// namespace of its own for it, and may have more than Highway's targets (VNNI, ARM's dot product):
//   RECKON_INTEGERS         the namespace
//   RECKON_INTEGERS_BEFORE  the attributes of its functions begin; …_AFTER: end; …_ATTR: those of a lambda
//   RECKON_VNNI             1: with VPDPBUSD, which multiplies unsigned bytes by signed ones
//   RECKON_SDOT             1: with SDOT, which multiplies signed ones
//
// Every encoding is read in sub-blocks of 32 elements, 8 of which are a group. With x = dx·q, what a sub-block adds to
// a dot product is
//   D·dx·Σ code·q  +  F·dx·Σ q
// where code is what `codes` gives (unsigned and below 64, or signed where `is_signed`) and D and F are floats of the
// sub-block. The second sum is one that activations have with them. Where `has_halves`, both halves of a sub-block have
// small integers of their own: it is D·dx·Σ factor·code·q + F·dx·Σ offset·q.

#include <cstring>

#include "backend/cpu/simd-inl.h"
#include "hwy/cache_control.h"

#undef RECKON_WIDE
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define RECKON_WIDE 1  // vectors of 32 bytes, and Intel's instructions for them
#else
#define RECKON_WIDE 0
#endif

RECKON_INTEGERS_BEFORE;
namespace reckon {
namespace HWY_NAMESPACE {
namespace RECKON_INTEGERS {

HWY_INLINE const std::uint8_t* row_of(const Tile& t, std::int64_t j) {
  return static_cast<const std::uint8_t*>(t.w) + row_bytes(t.dtype, j * t.row_stride);
}

#if HWY_TARGET != HWY_SCALAR

constexpr int code_bytes = RECKON_WIDE ? 32 : 16;  // of a vector of codes
constexpr int code_parts = 32 / code_bytes;        // vectors of a sub-block

using Codes = hn::FixedTag<std::uint8_t, code_bytes>;
using Signed8 = hn::FixedTag<std::int8_t, code_bytes>;
using Integers16 = hn::FixedTag<std::int16_t, code_bytes / 2>;
using Integers = hn::FixedTag<std::int32_t, code_bytes / 4>;
using SomeFloats = hn::FixedTag<float, code_bytes / 4>;
using CodeVector = hn::Vec<Codes>;
using SumVector = hn::Vec<Integers>;

// --- Products of integers.

// Of bytes, added in pairs, for codes whose sums fit 16 bits: unsigned up to 127.
template <bool is_signed = false, class V8, class S8>
HWY_INLINE auto pair_products(V8 w, S8 x) {
  const hn::DFromV<S8> d8;
  const hn::Repartition<std::int16_t, decltype(d8)> d;
  using V16 = hn::Vec<decltype(d)>;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  if constexpr (sizeof(w.raw) == 64) return V16{_mm512_maddubs_epi16(w.raw, x.raw)};
#endif
#if RECKON_WIDE
  if constexpr (sizeof(w.raw) == 32) {
    if constexpr (is_signed)  // x is never −128
      return V16{_mm256_maddubs_epi16(_mm256_abs_epi8(w.raw), _mm256_sign_epi8(x.raw, w.raw))};
    else
      return V16{_mm256_maddubs_epi16(w.raw, x.raw)};
  }
#elif HWY_TARGET == HWY_SSE4
  if constexpr (is_signed)
    return V16{_mm_maddubs_epi16(_mm_abs_epi8(w.raw), _mm_sign_epi8(x.raw, w.raw))};
  else
    return V16{_mm_maddubs_epi16(w.raw, x.raw)};
#else
  const auto first = [&](auto v)
                         RECKON_INTEGERS_ATTR { return hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d, v))); };
  const auto second = [&](auto v) RECKON_INTEGERS_ATTR { return hn::ShiftRight<8>(hn::BitCast(d, v)); };
  return V16(hn::Add(hn::Mul(first(w), first(x)), hn::Mul(second(w), second(x))));
#endif
}

// a[2i]·b[2i] + a[2i+1]·b[2i+1], of 16 bits each.
template <class V16>
HWY_INLINE auto dot_pairs(V16 a, V16 b) {
  const hn::Repartition<std::int32_t, hn::DFromV<V16>> d;
  using V32 = hn::Vec<decltype(d)>;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  if constexpr (sizeof(a.raw) == 64) return V32{_mm512_madd_epi16(a.raw, b.raw)};
#endif
#if RECKON_WIDE
  if constexpr (sizeof(a.raw) == 32) return V32{_mm256_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4
  return V32{_mm_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_WASM
  return V32{wasm_i32x4_dot_i16x8(a.raw, b.raw)};
#else
  const auto first = [&](auto v)
                         RECKON_INTEGERS_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(d, v))); };
  const auto second = [&](auto v) RECKON_INTEGERS_ATTR { return hn::ShiftRight<16>(hn::BitCast(d, v)); };
  return V32(hn::Add(hn::Mul(first(a), first(b)), hn::Mul(second(a), second(b))));
#endif
}

// Of a vector of codes and x: each lane of the result is part of one sum.
template <bool is_signed>
HWY_INLINE SumVector dot(CodeVector w, hn::Vec<Signed8> x) {
#if RECKON_VNNI && HWY_TARGET == HWY_AVX2
  if constexpr (is_signed)
    return SumVector{
        _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), _mm256_abs_epi8(w.raw), _mm256_sign_epi8(x.raw, w.raw))};
  else
    return SumVector{_mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), w.raw, x.raw)};
#elif RECKON_VNNI
  if constexpr (is_signed)
    return SumVector{
        _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_abs_epi8(w.raw), _mm256_sign_epi8(x.raw, w.raw))};
  else
    return SumVector{_mm256_dpbusd_epi32(_mm256_setzero_si256(), w.raw, x.raw)};
#elif RECKON_SDOT  // codes that are unsigned are below 128
  return SumVector{vdotq_s32(vdupq_n_s32(0), vreinterpretq_s8_u8(w.raw), x.raw)};
#else
  return dot_pairs(pair_products<is_signed>(w, x), hn::Set(Integers16(), std::int16_t{1}));
#endif
}

// …the first half of the sub-block times factors[0], the second times factors[1].
HWY_INLINE SumVector dot_of_halves(CodeVector w, hn::Vec<Signed8> x, const std::int16_t* factors,
                                   [[maybe_unused]] int part) {
#if RECKON_SDOT
  return hn::Mul(dot<false>(w, x), hn::Set(Integers(), std::int32_t{factors[part]}));
#else
#if RECKON_WIDE
  std::int32_t two;
  std::memcpy(&two, factors, 4);
  const __m256i spread =
      _mm256_set_epi64x(0x0302030203020302, 0x0302030203020302, 0x0100010001000100, 0x0100010001000100);
  const hn::Vec<Integers16> both{_mm256_shuffle_epi8(_mm256_set1_epi32(two), spread)};
#else
  const auto both = hn::Set(Integers16(), factors[part]);
#endif
  return dot_pairs(pair_products(w, x), both);
#endif
}

// --- Codes.

template <int bits, class V>
HWY_INLINE V shift_right(V v) {  // bits of the neighbour come in: mask them away
  const hn::DFromV<V> d;
  return hn::BitCast(d, hn::ShiftRight<bits>(hn::BitCast(hn::Repartition<std::uint16_t, decltype(d)>(), v)));
}
template <int bits, class V>
HWY_INLINE V shift_left(V v) {
  const hn::DFromV<V> d;
  return hn::BitCast(d, hn::ShiftLeft<bits>(hn::BitCast(hn::Repartition<std::uint16_t, decltype(d)>(), v)));
}
template <int bits, class V>
HWY_INLINE V shift_bits(V v) {  // to the right, or to the left where negative
  if constexpr (bits == 0)
    return v;
  else if constexpr (bits > 0)
    return shift_right<bits>(v);
  else
    return shift_left<-bits>(v);
}
HWY_INLINE CodeVector all(int byte) { return hn::Set(Codes(), static_cast<std::uint8_t>(byte)); }
HWY_INLINE CodeVector load_codes(const std::uint8_t* from) { return hn::LoadU(Codes(), from); }

// 16 bytes, whose lower halves are the first 16 elements of a sub-block and whose upper ones the others.
HWY_INLINE CodeVector nibbles(const std::uint8_t* from, [[maybe_unused]] int part) {
#if RECKON_WIDE
  const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return hn::And(CodeVector{_mm256_srlv_epi32(twice, _mm256_set_epi32(4, 4, 4, 4, 0, 0, 0, 0))}, all(15));
#else
  const auto bytes = hn::LoadU(Codes(), from);
  return hn::And(part == 0 ? bytes : shift_right<4>(bytes), all(15));
#endif
}

// 16 table entries, looked up by codes below 16.
template <class V>
HWY_INLINE V look_up(const std::uint8_t* table, V codes) {
  return hn::TableLookupBytes(hn::LoadDup128(hn::DFromV<V>(), table), codes);
}

// 16 in the bytes whose bit of the 32 at `from` is set.
HWY_INLINE CodeVector fifth_bits(const std::uint8_t* from, int part) {
  alignas(32) static constexpr std::uint8_t spread[32] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                                          2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  std::uint32_t bits;
  std::memcpy(&bits, from, 4);
  const auto bytes = hn::BitCast(Codes(), hn::Set(hn::Repartition<std::uint32_t, Codes>(), bits));
  const auto own = hn::TableLookupBytes(bytes, hn::Load(Codes(), spread + part * code_bytes));
  const auto bit = hn::BitCast(Codes(), hn::Set(hn::Repartition<std::uint64_t, Codes>(), 0x8040201008040201));
  return hn::And(hn::VecFromMask(Codes(), hn::Eq(hn::And(own, bit), bit)), all(16));
}

// --- Scales of a group: 8 of each, as many vectors as that takes.

constexpr int scale_lanes = code_bytes / 4, scale_parts = 8 / scale_lanes;
using ScaleVector = hn::Vec<SomeFloats>;

struct Scales {
  HWY_INLINE Scales() {}  // an implicit one would not have the target's attributes
  ScaleVector d[scale_parts], f[scale_parts];
  HWY_ALIGN std::int16_t factor[16], offset[16];  // of halves
};

HWY_INLINE float half_float(const std::uint8_t* from) {
  hwy::float16_t bits;
  std::memcpy(&bits, from, 2);
  return hn::GetLane(load(OneFloat(), &bits));
}

HWY_INLINE void set_all(ScaleVector* to, float value) {
  HWY_UNROLL(2)
  for (int v = 0; v < scale_parts; ++v) to[v] = hn::Set(SomeFloats(), value);
}
HWY_INLINE void multiply(const ScaleVector* from, float factor, ScaleVector* to) {
  HWY_UNROLL(2)
  for (int v = 0; v < scale_parts; ++v) to[v] = hn::Mul(from[v], hn::Set(SomeFloats(), factor));
}

// 8 bytes.
HWY_INLINE void from_bytes(const std::uint8_t* from, ScaleVector* to) {
  const hn::Rebind<std::uint8_t, Integers> bytes;
  HWY_UNROLL(2)
  for (int v = 0; v < scale_parts; ++v)
    to[v] = hn::ConvertTo(SomeFloats(), hn::PromoteTo(Integers(), hn::LoadU(bytes, from + v * scale_lanes)));
}

// `size` bytes each from `count` places, `stride` bytes apart, side by side. Not by vectors: their units have enough to
// do.
template <int size, int count, int stride>
HWY_INLINE std::uint64_t gathered(const std::uint8_t* from) {
  std::uint64_t all = 0;
  HWY_UNROLL(8)
  for (int i = 0; i < count; ++i) {
    std::uint64_t one = 0;
    std::memcpy(&one, from + i * stride, size);
    all |= one << (8 * size * i);
  }
  return all;
}

// So many float16, `stride` bytes apart; zeros behind them.
template <int stride>
HWY_INLINE void half_floats(const std::uint8_t* from, int count, ScaleVector* to) {
#if RECKON_WIDE
  if (HWY_LIKELY(count == 8)) {
    const __m128i bits = _mm_set_epi64x(static_cast<std::int64_t>(gathered<2, 4, stride>(from + 4 * stride)),
                                        static_cast<std::int64_t>(gathered<2, 4, stride>(from)));
    to[0] = ScaleVector{_mm256_cvtph_ps(bits)};
    return;
  }
#endif
  HWY_ALIGN float values[8];
  for (int i = 0; i < 8; ++i) values[i] = i < count ? half_float(from + i * stride) : 0.0f;
  HWY_UNROLL(2)
  for (int v = 0; v < scale_parts; ++v) to[v] = hn::Load(SomeFloats(), values + v * scale_lanes);
}

// Two neighbours of each.
template <int stride>
HWY_INLINE void half_float_pairs(const std::uint8_t* from, int count, ScaleVector* first, ScaleVector* second) {
#if RECKON_WIDE
  if (HWY_LIKELY(count == 8)) {
    const auto four = [](const std::uint8_t* at) RECKON_INTEGERS_ATTR {
      return _mm_set_epi64x(static_cast<std::int64_t>(gathered<4, 2, stride>(at + 2 * stride)),
                            static_cast<std::int64_t>(gathered<4, 2, stride>(at)));
    };
    const __m128i a = four(from), b = four(from + 4 * stride), zero = _mm_setzero_si128();
    const __m128i low = _mm_packus_epi32(_mm_blend_epi16(a, zero, 0xaa), _mm_blend_epi16(b, zero, 0xaa));
    const __m128i high = _mm_packus_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16));
    first[0] = ScaleVector{_mm256_cvtph_ps(low)};
    second[0] = ScaleVector{_mm256_cvtph_ps(high)};
    return;
  }
#endif
  half_floats<stride>(from, count, first);
  half_floats<stride>(from + 2, count, second);
}

// 2^(E − 128). The two smallest are no normal numbers.
template <class V>
HWY_INLINE auto power(V e) {
  const hn::DFromV<V> d;
  const auto one = hn::Set(d, 1);
  const auto tiny = hn::ShiftLeft<21>(hn::Add(e, one));  // E + 1 is 2^E for 0 and 1
  return hn::BitCast(hn::RebindToFloat<decltype(d)>(),
                     hn::IfThenElse(hn::Gt(e, one), hn::ShiftLeft<23>(hn::Sub(e, one)), tiny));
}

// …of so many bytes E; zeros behind them.
template <int stride>
HWY_INLINE void powers(const std::uint8_t* from, int count, ScaleVector* to) {
  const Integers d;
#if RECKON_WIDE
  if (HWY_LIKELY(count == 8)) {
    const __m128i bytes = _mm_cvtsi64_si128(static_cast<std::int64_t>(gathered<1, 8, stride>(from)));
    to[0] = power(hn::Vec<Integers>{_mm256_cvtepu8_epi32(bytes)});
    return;
  }
#endif
  HWY_ALIGN std::int32_t values[8];
  for (int i = 0; i < 8; ++i) values[i] = i < count ? from[i * stride] : -1;  // −1 becomes 0
  HWY_UNROLL(2)
  for (int v = 0; v < scale_parts; ++v) to[v] = power(hn::Load(d, values + v * scale_lanes));
}

// --- Encodings: `bytes` of a block of `elements`; codes<j> the codes of sub-block j of a group, part `part`.

// Blocks of 32 elements: a group is up to 8 of them.
template <int block_bytes>
struct Small {
  static constexpr int bytes = block_bytes, elements = 32;
  static constexpr int largest = 15;  // code
  static constexpr int shift = 0;     // F = shift·D of every sub-block; 0: they are unlike
  static constexpr bool is_signed = false, has_halves = false, has_offset = true;
};
// Of 256: a group is one.
template <int block_bytes>
struct Large {
  static constexpr int bytes = block_bytes, elements = 256;
  static constexpr int largest = 15;
  static constexpr int shift = 0;
  static constexpr bool is_signed = false, has_halves = false, has_offset = true;
};

struct Q8_0 : Small<34> {
  static constexpr bool is_signed = true, has_offset = false;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return load_codes(group + j * bytes + 2 + part * code_bytes);
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_floats<bytes>(group, count, s.d);
  }
};

struct Q4_0 : Small<18> {
  static constexpr int shift = -8;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return nibbles(group + j * bytes + 2, part);
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_floats<bytes>(group, count, s.d);
    multiply(s.d, shift, s.f);
  }
};

struct Q4_1 : Small<20> {
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return nibbles(group + j * bytes + 4, part);
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_float_pairs<bytes>(group, count, s.d, s.f);
  }
};

struct Q5_0 : Small<22> {
  static constexpr int shift = -16;
  static constexpr int largest = 31;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return hn::Or(nibbles(group + j * bytes + 6, part), fifth_bits(group + j * bytes + 2, part));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_floats<bytes>(group, count, s.d);
    multiply(s.d, shift, s.f);
  }
};

struct Q5_1 : Small<24> {
  static constexpr int largest = 31;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return hn::Or(nibbles(group + j * bytes + 8, part), fifth_bits(group + j * bytes + 4, part));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_float_pairs<bytes>(group, count, s.d, s.f);
  }
};

// The 16 values of IQ4_NL and IQ4_XS.
alignas(16) constexpr std::int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113};

struct Iq4Nl : Small<18> {
  static constexpr bool is_signed = true, has_offset = false;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return look_up(reinterpret_cast<const std::uint8_t*>(uneven), nibbles(group + j * bytes + 2, part));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    half_floats<bytes>(group, count, s.d);
  }
};

struct Mxfp4 : Small<17> {
  static constexpr int shift = -12;
  static constexpr int largest = 24;
  alignas(16) static constexpr std::uint8_t table[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                                         12, 11, 10, 9,  8,  6,  4,  0};  // 12 + F
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return look_up(table, nibbles(group + j * bytes + 1, part));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int count, Scales& s) {
    powers<bytes>(group, count, s.d);
    multiply(s.d, shift, s.f);
  }
};

#if !RECKON_WIDE
// Eight scales and eight minimums of 6 bits in 12 bytes (Q4_K, Q5_K), each in a byte of its own.
HWY_INLINE void six_bits(const std::uint8_t* from, std::uint64_t& scales, std::uint64_t& minimums) {
  std::uint32_t a, b, c;
  std::memcpy(&a, from, 4);
  std::memcpy(&b, from + 4, 4);
  std::memcpy(&c, from + 8, 4);
  const std::uint32_t low6 = 0x3f3f3f3f, low4 = 0x0f0f0f0f, high2 = 0x30303030;
  scales = (a & low6) | std::uint64_t{(c & low4) | ((a >> 2) & high2)} << 32;
  minimums = (b & low6) | std::uint64_t{((c >> 4) & low4) | ((b >> 2) & high2)} << 32;
}
#endif

template <int block_bytes>
struct WithMinimums : Large<block_bytes> {
  static HWY_INLINE void scales(const std::uint8_t* group, int, Scales& s) {
#if RECKON_WIDE
    // Bytes 0–3 of the 12: scales 0–3, and above them two bits of 4–7; 4–7: minimums alike; 8–11: the other bits.
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(group + 4));
    const __m128i fours = _mm_srlv_epi32(_mm_shuffle_epi32(packed, 0xaa), _mm_set_epi32(0, 0, 4, 0));
    const __m128i low = _mm_and_si128(packed, _mm_set1_epi8(63));
    const __m128i high = _mm_or_si128(_mm_and_si128(fours, _mm_set1_epi8(15)),
                                      _mm_and_si128(_mm_srli_epi16(packed, 2), _mm_set1_epi8(0x30)));
    const __m128i all = _mm_unpacklo_epi32(low, high);
    const __m256 d = _mm256_cvtph_ps(_mm_set1_epi32(static_cast<int>(gathered<4, 1, 0>(group))));
    s.d[0].raw = _mm256_mul_ps(_mm256_moveldup_ps(d), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(all)));
    s.f[0].raw = _mm256_mul_ps(_mm256_movehdup_ps(_mm256_sub_ps(_mm256_setzero_ps(), d)),
                               _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(all, all))));
#else
    std::uint64_t scales, minimums;
    six_bits(group + 4, scales, minimums);
    std::uint8_t scale[8], minimum[8];
    std::memcpy(scale, &scales, 8);
    std::memcpy(minimum, &minimums, 8);
    from_bytes(scale, s.d);
    from_bytes(minimum, s.f);
    multiply(s.d, half_float(group), s.d);
    multiply(s.f, -half_float(group + 2), s.f);
#endif
  }
};

struct Q4_K : WithMinimums<144> {
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return hn::And(shift_bits<j % 2 * 4>(load_codes(group + 16 + j / 2 * 32 + part * code_bytes)), all(15));
  }
};

struct Q5_K : WithMinimums<176> {
  static constexpr int largest = 31;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    const auto low = hn::And(shift_bits<j % 2 * 4>(load_codes(group + 48 + j / 2 * 32 + part * code_bytes)), all(15));
    return hn::Or(low, hn::And(shift_bits<j - 4>(load_codes(group + 16 + part * code_bytes)), all(16)));
  }
};

struct Q6_K : Large<210> {
  static constexpr int largest = 63, shift = -32;
  static constexpr bool has_halves = true;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    constexpr int r = j % 4;
    const int at = part * code_bytes;
    const auto low = hn::And(shift_bits<r / 2 * 4>(load_codes(group + 64 * (j / 4) + 32 * (r % 2) + at)), all(15));
    return hn::Or(low, hn::And(shift_bits<2 * r - 4>(load_codes(group + 128 + 32 * (j / 4) + at)), all(0x30)));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int, Scales& s) {
    const float d = half_float(group + 208);
    std::int8_t factor[16];
    std::memcpy(factor, group + 192, 16);
    set_all(s.d, d);
    set_all(s.f, d);
    for (int j = 0; j < 16; ++j)
      s.factor[j] = std::int16_t{factor[j]};  // NOLINT(bugprone-signed-char-misuse): a number
    for (int j = 0; j < 16; ++j) s.offset[j] = static_cast<std::int16_t>(shift * factor[j]);
  }
};

struct Q2_K : Large<84> {
  static constexpr int largest = 3;
  static constexpr bool has_halves = true;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return hn::And(shift_bits<j % 4 * 2>(load_codes(group + 16 + 32 * (j / 4) + part * code_bytes)), all(3));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int, Scales& s) {
    const float d = half_float(group + 80), least = half_float(group + 82);
    set_all(s.d, d);
    set_all(s.f, -least);
    for (int j = 0; j < 16; ++j) s.factor[j] = static_cast<std::int16_t>(group[j] & 15);
    for (int j = 0; j < 16; ++j) s.offset[j] = static_cast<std::int16_t>(group[j] >> 4);
  }
};

struct Q3_K : Large<110> {
  static constexpr int largest = 7, shift = -4;
  static constexpr bool has_halves = true;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    const auto low = hn::And(shift_bits<j % 4 * 2>(load_codes(group + 32 + 32 * (j / 4) + part * code_bytes)), all(3));
    return hn::Or(low, hn::And(shift_bits<j - 2>(load_codes(group + part * code_bytes)), all(4)));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int, Scales& s) {
    const float d = half_float(group + 108);
    std::uint32_t a, b, c;
    std::memcpy(&a, group + 96, 4);
    std::memcpy(&b, group + 100, 4);
    std::memcpy(&c, group + 104, 4);
    const std::uint32_t low4 = 0x0f0f0f0f, high2 = 0x30303030;
    const std::uint32_t words[4] = {(a & low4) | ((c << 4) & high2), (b & low4) | ((c << 2) & high2),
                                    ((a >> 4) & low4) | (c & high2), ((b >> 4) & low4) | ((c >> 2) & high2)};
    std::uint8_t factor[16];
    std::memcpy(factor, words, 16);
    set_all(s.d, d);
    set_all(s.f, d);
    for (int j = 0; j < 16; ++j) s.factor[j] = static_cast<std::int16_t>(factor[j] - 32);
    for (int j = 0; j < 16; ++j) s.offset[j] = static_cast<std::int16_t>(shift * (factor[j] - 32));
  }
};

struct Iq4Xs : Large<136> {
  static constexpr bool is_signed = true, has_offset = false;
  template <int j>
  static HWY_INLINE CodeVector codes(const std::uint8_t* group, int part) {
    return look_up(reinterpret_cast<const std::uint8_t*>(uneven), nibbles(group + 8 + 16 * j, part));
  }
  static HWY_INLINE void scales(const std::uint8_t* group, int, Scales& s) {
    const int high = group[2] | group[3] << 8;
    std::uint8_t scale[8];
    for (int j = 0; j < 8; ++j)
      scale[j] = static_cast<std::uint8_t>(((group[4 + j / 2] >> (j % 2 * 4)) & 15) | ((high >> (2 * j)) & 3) << 4);
    from_bytes(scale, s.d);
    HWY_UNROLL(2)
    for (int v = 0; v < scale_parts; ++v) s.d[v] = hn::Sub(s.d[v], hn::Set(SomeFloats(), 32.0f));
    multiply(s.d, half_float(group), s.d);
  }
};

// --- Few rows: each weight is read once, where it lies, and meets all rows of x.

// A row of x in memory (activation8): all integers, then the scale of every 32, then dx·Σ q of every 32, then Σ q of
// every 16.
struct Activations {
  Activations() = default;
  Activations(const std::byte* row, std::int64_t k)
      : q(reinterpret_cast<const std::int8_t*>(row)),
        scale(reinterpret_cast<const float*>(row + k)),
        sums(reinterpret_cast<const float*>(row + k + k / 8)),
        halves(reinterpret_cast<const std::int16_t*>(row + k + k / 4)) {}
  const std::int8_t* q;
  const float *scale, *sums;
  const std::int16_t* halves;
};

// The sums of `rows` dot products, two of each with codes: one alone would be waited for.
template <int rows>
struct Sums {
  HWY_INLINE Sums() {}
  hn::Vec<SomeFloats> of[rows][2], offsets[rows];
};

// What a group's sums are multiplied by, and the factors of halves.
template <int rows>
struct Prepared {
  HWY_ALIGN float scale[rows][8];
  HWY_ALIGN std::int16_t factor[16];
};

// Of `count` sub-blocks and 8 of x, from that on; adds what is added without codes.
template <class Block, int rows>
HWY_INLINE void prepare(const std::uint8_t* w, int count, const Activations* x, int from, Prepared<rows>& prepared,
                        Sums<rows>& sums) {
  const SomeFloats d;
  const Integers16 pairs;
  Scales s;
  Block::scales(w, count, s);
  if constexpr (Block::has_halves) std::memcpy(prepared.factor, s.factor, sizeof s.factor);
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(2)
    for (int v = 0; v < scale_parts; ++v) {
      const auto scale = hn::LoadU(d, x[i].scale + from + v * scale_lanes);
      hn::Store(hn::Mul(scale, s.d[v]), d, prepared.scale[i] + v * scale_lanes);
      if constexpr (Block::has_halves) {
        const auto sum = dot_pairs(hn::Load(pairs, s.offset + 2 * v * scale_lanes),
                                   hn::LoadU(pairs, x[i].halves + 2 * (from + v * scale_lanes)));
        sums.offsets[i] = hn::MulAdd(hn::Mul(scale, s.f[v]), hn::ConvertTo(d, sum), sums.offsets[i]);
      } else if constexpr (Block::has_offset) {
        sums.offsets[i] = hn::MulAdd(hn::LoadU(d, x[i].sums + from + v * scale_lanes), s.f[v], sums.offsets[i]);
      }
    }
  }
}

template <class Block, int rows, int j = 0>
HWY_INLINE void add_sub_blocks(const std::uint8_t* w, int count, const Activations* x, const Prepared<rows>& prepared,
                               Sums<rows>& sums) {
  if constexpr (j < 8) {
    if (j >= count) return;
    CodeVector codes[code_parts];
    HWY_UNROLL(2)
    for (int part = 0; part < code_parts; ++part) codes[part] = kept(Block::template codes<j>(w, part));
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      SumVector sum = hn::Zero(Integers());
      HWY_UNROLL(2)
      for (int part = 0; part < code_parts; ++part) {
        const auto q = hn::LoadU(Signed8(), x[i].q + 32 * j + part * code_bytes);
        SumVector more;
        if constexpr (Block::has_halves)
          more = dot_of_halves(codes[part], q, prepared.factor + 2 * j, part);
        else
          more = dot<Block::is_signed>(codes[part], q);
        sum = part == 0 ? more : hn::Add(sum, more);
      }
      sums.of[i][j % 2] =
          hn::MulAdd(hn::ConvertTo(SomeFloats(), sum), hn::Set(SomeFloats(), prepared.scale[i][j]), sums.of[i][j % 2]);
    }
    add_sub_blocks<Block, rows, j + 1>(w, count, x, prepared, sums);
  }
}

// Fewer than 8 sub-blocks at the end of a row.
template <class Block, int rows>
HWY_NOINLINE void add_rest(const std::uint8_t* w, int count, const Activations* x, Sums<rows>& sums) {
  HWY_ALIGN float scale[rows][8] = {}, x_sums[rows][8] = {};
  Activations some[rows];
  for (int i = 0; i < rows; ++i) {
    std::memcpy(scale[i], x[i].scale, static_cast<std::size_t>(count) * 4);
    std::memcpy(x_sums[i], x[i].sums, static_cast<std::size_t>(count) * 4);
    some[i] = x[i];
    some[i].scale = scale[i];
    some[i].sums = x_sums[i];
  }
  Prepared<rows> prepared;
  prepare<Block, rows>(w, count, some, 0, prepared, sums);
  add_sub_blocks<Block, rows>(w, count, some, prepared, sums);
}

// Dot products of one row of W with `rows` rows of x. Memory is asked for `ahead` bytes before its use.
template <class Block, int rows, int ahead>
HWY_INLINE void quantised_dots(const std::uint8_t* w, const Activations* x_rows, std::int64_t k, float* out,
                               std::int64_t out_stride) {
  constexpr int group_bytes = Block::bytes * 256 / Block::elements;
  Activations x[rows];
  for (int i = 0; i < rows; ++i) x[i] = x_rows[i];
  Sums<rows> sums;
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) sums.of[i][0] = sums.of[i][1] = sums.offsets[i] = hn::Zero(SomeFloats());
  // Scales take long to come by: those of the next group are prepared before this one's codes are multiplied.
  const auto advance = [&]() RECKON_INTEGERS_ATTR {
    w += group_bytes;
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) x[i].q += 256, x[i].scale += 8, x[i].sums += 8, x[i].halves += 16;
  };
  Prepared<rows> even, odd;
  const auto step = [&](const Prepared<rows>& now, Prepared<rows>& next, bool last) RECKON_INTEGERS_ATTR {
    HWY_UNROLL(8)
    for (int line = 0; line < group_bytes; line += 64) hwy::Prefetch(w + ahead + line);
    if (!last) prepare<Block, rows>(w + group_bytes, 8, x, 8, next, sums);
    add_sub_blocks<Block, rows>(w, 8, x, now, sums);
    advance();
    return last;
  };
  if (std::int64_t left = k / 256; left > 0) {
    prepare<Block, rows>(w, 8, x, 0, even, sums);
    while (!step(even, odd, left == 1) && !step(odd, even, left == 2)) left -= 2;
  }
  if constexpr (Block::elements == 32)
    if (const int rest = static_cast<int>(k / 32 % 8); rest > 0) add_rest<Block, rows>(w, rest, x, sums);
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    auto sum = hn::Add(sums.of[i][0], sums.of[i][1]);
    if constexpr (Block::has_offset) sum = hn::Add(sum, sums.offsets[i]);
    out[i * out_stride] = hn::GetLane(hn::SumOfLanes(SomeFloats(), sum));
  }
}

// --- Many rows: weights are unpacked into panels, as wide as a vector has lanes, in which the codes of four elements
// of K lie side by side for each column; so a column's sums stay in its lane.

using Lines = hn::ScalableTag<std::uint8_t>;
using SignedLines = hn::Repartition<std::int8_t, Lines>;
using Lanes16 = hn::Repartition<std::int16_t, Lines>;
using Lanes32 = hn::Repartition<std::int32_t, Lines>;
constexpr int panel_columns = static_cast<int>(hn::MaxLanes(Floats()));

// How the sums of a block are made. A unit has one scale and one offset.
template <class Block>
struct Panel {
  static constexpr int unit = Block::has_halves ? 16 : 32;
  // Codes of all 8 bits become 16 wide, and so does x; with VNNI they are made unsigned, by an offset; SDOT takes them
  // as they are.
  static constexpr bool wide = Block::is_signed && !RECKON_VNNI && !RECKON_SDOT;
  // Where every code of the encoding is shifted alike, its sums begin at so many times Σ q; else units have offsets.
  static constexpr int shift = Block::is_signed ? (RECKON_VNNI ? -128 : 0) : Block::shift;
  static constexpr bool has_offset = Block::has_offset && shift == 0;
  // Vectors of products that can be added in 16 bits, each at most 2·127 times the largest code: 8, 4 or 2.
  static constexpr int most = 32767 / (2 * 127 * Block::largest);
  static constexpr int together = most >= unit / 4 ? unit / 4 : most >= 4 ? 4 : 2;

  static constexpr int line = 4 * panel_columns;                     // bytes: of each column, 4 or 2 codes
  static constexpr std::int64_t lines = unit / (wide ? 2 : 4);       // of a unit
  static constexpr std::int64_t bytes_of_unit = (lines + 2) * line;  // with a line of scales and one of offsets
};

template <class Block, int j>
HWY_INLINE void unpack_codes(const std::uint8_t* group, int count, std::uint8_t* to) {
  if constexpr (j < 8) {
    if (j >= count) return;
    HWY_UNROLL(2)
    for (int part = 0; part < code_parts; ++part) {
      auto codes = Block::template codes<j>(group, part);
      if constexpr (Block::is_signed && RECKON_VNNI) codes = hn::Xor(codes, all(0x80));
      hn::StoreU(codes, Codes(), to + 32 * j + part * code_bytes);
    }
    unpack_codes<Block, j + 1>(group, count, to);
  }
}

// The panel of columns from j on, and of elements [begin, begin + depth); columns beyond the tile become zeros.
template <class Block>
void pack_panel(const Tile& t, std::int64_t j, std::int64_t begin, std::int64_t depth, std::uint8_t* panel) {
  using P = Panel<Block>;
  if (t.n - j < panel_columns) std::memset(panel, 0, static_cast<std::size_t>(depth / P::unit * P::bytes_of_unit));
  HWY_ALIGN std::uint8_t codes[256];
  HWY_ALIGN float d[8], f[8];
  Scales s;
  for (std::int64_t c = 0; c < panel_columns && j + c < t.n; ++c) {
    for (std::int64_t k = 0; k < depth; k += 256) {
      const std::uint8_t* group = row_of(t, j + c) + row_bytes(t.dtype, begin + k);
      const int count = static_cast<int>((depth - k < 256 ? depth - k : 256) / 32);
      unpack_codes<Block, 0>(group, count, codes);
      Block::scales(group, count, s);
      for (int v = 0; v < scale_parts; ++v) {
        hn::Store(s.d[v], SomeFloats(), d + v * scale_lanes);
        if constexpr (Block::has_offset) hn::Store(s.f[v], SomeFloats(), f + v * scale_lanes);
      }
      std::uint8_t* to = panel + k / P::unit * P::bytes_of_unit + c * 4;
      for (int u = 0; u < 32 * count / P::unit; ++u, to += P::bytes_of_unit) {
        const int part = u * P::unit / 32;
        float scale = d[part], offset = 0;
        if constexpr (Block::has_offset) offset = f[part];
        if constexpr (Block::has_halves)
          scale *= static_cast<float>(s.factor[u]), offset *= static_cast<float>(s.offset[u]);
        std::memcpy(to + P::lines * P::line, &scale, 4);
        if constexpr (P::has_offset) std::memcpy(to + (P::lines + 1) * P::line, &offset, 4);
        const std::uint8_t* from = codes + u * P::unit;
        for (int q = 0; q < P::lines; ++q) {
          if constexpr (P::wide) {
            const std::int16_t two[2] = {static_cast<std::int8_t>(from[2 * q]),
                                         static_cast<std::int8_t>(from[2 * q + 1])};
            std::memcpy(to + q * P::line, two, 4);
          } else {
            std::memcpy(to + q * P::line, from + 4 * q, 4);
          }
        }
      }
    }
  }
}

#if RECKON_VNNI || RECKON_SDOT
HWY_INLINE hn::Vec<Lanes32> add_dot(hn::Vec<Lanes32> sum, hn::Vec<Lines> w, hn::Vec<SignedLines> x) {
#if RECKON_SDOT
  return hn::Vec<Lanes32>{vdotq_s32(sum.raw, vreinterpretq_s8_u8(w.raw), x.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Lanes32>{_mm256_dpbusd_avx_epi32(sum.raw, w.raw, x.raw)};
#else
  return hn::Vec<Lanes32>{_mm512_dpbusd_epi32(sum.raw, w.raw, x.raw)};
#endif
}
#endif

// Four bytes of a row of x in every lane.
HWY_INLINE hn::Vec<Lanes32> four_bytes(const void* x) {
  std::int32_t four;
  std::memcpy(&four, x, 4);
  return kept(hn::Set(Lanes32(), four));
}

// The sums of one unit: rows of x, `x_bytes` apart, by vectors of columns, whose panels lie `apart` bytes from each
// other. Those of row i begin at `start(i)`.
template <class Block, int rows, int vectors, class Start>
HWY_INLINE void unit_sums(const std::uint8_t* panel, std::int64_t apart, const std::byte* x, std::int64_t x_bytes,
                          const Start& start, hn::Vec<Lanes32> (&sums)[rows][vectors]) {
  using P = Panel<Block>;
  const auto begin = [&]() RECKON_INTEGERS_ATTR {
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) sums[i][v] = P::shift != 0 ? hn::Set(Lanes32(), start(i)) : hn::Zero(Lanes32());
    }
  };
  // add(i, v, codes of vector v, x of row i), for a line of codes.
  const auto each = [&](std::int64_t q, const auto& add) RECKON_INTEGERS_ATTR {
    hn::Vec<Lines> w[vectors];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) w[v] = kept(hn::LoadU(Lines(), panel + v * apart + q * P::line));
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto four = four_bytes(x + i * x_bytes + q * 4);
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) add(i, v, w[v], four);
    }
  };
  if constexpr (P::wide || RECKON_VNNI || RECKON_SDOT) {
    begin();
    HWY_UNROLL(16)
    for (std::int64_t q = 0; q < P::lines; ++q)
      each(q, [&](int i, int v, auto w, auto four) RECKON_INTEGERS_ATTR {
        if constexpr (P::wide)
          sums[i][v] = kept(hn::Add(sums[i][v], dot_pairs(hn::BitCast(Lanes16(), w), hn::BitCast(Lanes16(), four))));
        else
          sums[i][v] = add_dot(sums[i][v], w, hn::BitCast(SignedLines(), four));
      });
  } else {
    const auto one = hn::Set(Lanes16(), std::int16_t{1});
    HWY_UNROLL(8)
    for (std::int64_t first = 0; first < P::lines; first += P::together) {
      hn::Vec<Lanes16> pairs[rows][vectors];
      HWY_UNROLL(8)
      for (std::int64_t q = first; q < first + P::together; ++q)
        each(q, [&](int i, int v, auto w, auto four) RECKON_INTEGERS_ATTR {
          const auto products = pair_products(w, hn::BitCast(SignedLines(), four));
          pairs[i][v] = kept(q == first ? products : hn::Add(pairs[i][v], products));
        });
      HWY_UNROLL(8)
      for (int i = 0; i < rows; ++i) {
        HWY_UNROLL(4)
        for (int v = 0; v < vectors; ++v) {
          const auto more = dot_pairs(pairs[i][v], one);
          if (P::shift != 0 && first == 0)
            sums[i][v] = hn::Add(hn::Set(Lanes32(), start(i)), more);
          else
            sums[i][v] = first == 0 ? more : hn::Add(sums[i][v], more);
        }
      }
    }
  }
}

// Rows of x as panels meet them: integers of 8 or 16 bits, their scales, and of each unit dx·Σ q, or, as an integer,
// what its sums begin at.
struct PanelRows {
  const std::byte* q;
  const float* scale;
  const void* sums;
  std::int64_t q_bytes, scale_bytes, sums_bytes;  // from row to row
};

template <class T>
HWY_INLINE const T* skip_bytes(const T* from, std::int64_t bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(from) + bytes);
}

// out (rows × vectors) += x · panel.
template <class Block, int rows, int vectors>
HWY_NOINLINE void quantised_block(const std::uint8_t* panel, std::int64_t apart, std::int64_t depth, PanelRows x,
                                  float* out, std::int64_t out_stride) {
  using P = Panel<Block>;
  const Floats d;
  for (std::int64_t k = 0; k < depth; k += P::unit, panel += P::bytes_of_unit) {
    hn::Vec<Lanes32> sums[rows][vectors];
    const auto start = [&](int i) RECKON_INTEGERS_ATTR {
      std::int32_t value;
      std::memcpy(&value, static_cast<const std::byte*>(x.sums) + i * x.sums_bytes + k / P::unit * 4, 4);
      return value;
    };
    unit_sums<Block, rows, vectors>(panel, apart, x.q + k * (P::wide ? 2 : 1), x.q_bytes, start, sums);
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto scale = hn::Set(d, skip_bytes(x.scale, i * x.scale_bytes)[k / 32]);
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) {
        const auto* scales = reinterpret_cast<const float*>(panel + v * apart + P::lines * P::line);
        float* to = out + i * out_stride + v * panel_columns;
        auto sum = hn::LoadU(d, to);
        sum = hn::MulAdd(hn::Mul(hn::ConvertTo(d, sums[i][v]), scale), hn::LoadU(d, scales), sum);
        if constexpr (P::has_offset) {
          const auto x_sum = hn::Set(d, skip_bytes(static_cast<const float*>(x.sums), i * x.sums_bytes)[k / P::unit]);
          sum = hn::MulAdd(x_sum, hn::LoadU(d, scales + panel_columns), sum);
        }
        hn::StoreU(sum, d, to);
      }
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace RECKON_INTEGERS
}  // namespace HWY_NAMESPACE
}  // namespace reckon
RECKON_INTEGERS_AFTER;
