// Dot products with interleaved weights (interleave.h), 8 rows of W at a time. Included as quantised-inl.h is.

#if RECKON_WIDE

RECKON_INTEGERS_BEFORE;
namespace reckon {
namespace HWY_NAMESPACE {
namespace RECKON_INTEGERS {

using Column = hn::Vec<SomeFloats>;  // a number for each of 8 rows of W

// Σ code·q of a few elements.
struct ColumnSum {
#if RECKON_VNNI
  SumVector sum;
  HWY_INLINE ColumnSum() : sum(hn::Zero(Integers())) {}  // an implicit one would not have the target's attributes
  HWY_INLINE void add(CodeVector w, hn::Vec<Signed8> x) {
#if HWY_TARGET == HWY_AVX2
    sum.raw = _mm256_dpbusd_avx_epi32(sum.raw, w.raw, x.raw);
#else
    sum.raw = _mm256_dpbusd_epi32(sum.raw, w.raw, x.raw);
#endif
  }
  HWY_INLINE SumVector whole() const { return sum; }
#else
  hn::Vec<Integers16> pairs;  // 32,767 at most: 8 products of codes up to 15, 4 up to 31 …
  HWY_INLINE ColumnSum() : pairs(hn::Zero(Integers16())) {}
  HWY_INLINE void add(CodeVector w, hn::Vec<Signed8> x) { pairs = kept(hn::Add(pairs, pair_products(w, x))); }
  HWY_INLINE SumVector whole() const { return dot_pairs(pairs, hn::Set(Integers16(), std::int16_t{1})); }
#endif
};

// Of codes of 8 bits, whose 16-bit sums would not fit: `start` is −128·Σ q, for codes are made unsigned where that is
// faster.
struct SignedColumnSum {
  SumVector sum;
#if RECKON_VNNI
  HWY_INLINE explicit SignedColumnSum(std::int32_t start) : sum(hn::Set(Integers(), start)) {}
  HWY_INLINE void add(CodeVector w, hn::Vec<Signed8> x) {
    const CodeVector codes = hn::Xor(w, all(0x80));
#if HWY_TARGET == HWY_AVX2
    sum.raw = _mm256_dpbusd_avx_epi32(sum.raw, codes.raw, x.raw);
#else
    sum.raw = _mm256_dpbusd_epi32(sum.raw, codes.raw, x.raw);
#endif
  }
#else
  HWY_INLINE explicit SignedColumnSum(std::int32_t) : sum(hn::Zero(Integers())) {}
  HWY_INLINE void add(CodeVector w, hn::Vec<Signed8> x) { sum = hn::Add(sum, dot<true>(w, x)); }
#endif
};

HWY_INLINE hn::Vec<Signed8> four_of(const std::int8_t* x) {
  std::int32_t four;
  std::memcpy(&four, x, 4);
  return hn::BitCast(Signed8(), hn::Set(Integers(), four));
}
HWY_INLINE Column in_all(float value) { return hn::Set(SomeFloats(), value); }
HWY_INLINE Column as_floats(SumVector sum) { return hn::ConvertTo(SomeFloats(), sum); }
HWY_INLINE Column eight_halves(const std::uint8_t* from) {
  return Column{_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
}
HWY_INLINE Column eight_bytes(const std::uint8_t* from) {
  return Column{_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))))};
}
HWY_INLINE Column eight_signed_bytes(const std::uint8_t* from) {
  return Column{_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))))};
}

// The sums of 8 rows of W with `rows` of x: those with codes, and what `offset` is times.
template <int rows>
struct ColumnSums {
  Column of[rows], offsets[rows];
};

template <class Block>
struct Interleaved {
  static constexpr bool there = false;
};

// A unit of a panel (quantised-inl.h), 8 columns of it: `line` bytes from line to line, scales behind `lines` of codes,
// then offsets.
struct PanelUnit {
  std::uint8_t* to;
  std::int64_t line, lines;
  HWY_INLINE void set_codes(std::int64_t at, CodeVector codes) const { hn::StoreU(codes, Codes(), to + at * line); }
  HWY_INLINE void set_scale(Column scale) const {
    hn::StoreU(scale, SomeFloats(), reinterpret_cast<float*>(to + lines * line));
  }
  HWY_INLINE void set_scales(Column scale, Column offset) const {
    set_scale(scale);
    hn::StoreU(offset, SomeFloats(), reinterpret_cast<float*>(to + (lines + 1) * line));
  }
};

// One block of 32: 8 scales, then 4 lines; the lower halves of their bytes are the first 16 elements.
template <class Block>
struct InterleavedNibbles {
  static constexpr bool there = true;
  static constexpr int elements = 32;
  // The units of a block, `apart` bytes from each other.
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t) {
    using I = Interleaved<Block>;
    for (int line = 0; line < 4; ++line) {
      const auto bytes = load_codes(w + I::lines + 32 * line);
      unit.set_codes(line, I::codes(hn::And(bytes, all(15))));
      unit.set_codes(line + 4, I::codes(hn::And(shift_right<4>(bytes), all(15))));
    }
    const Column d = I::scales(w);
    unit.set_scale(d);
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums) {
    using I = Interleaved<Block>;
    const Column d = I::scales(w);
    ColumnSum low[rows], high[rows];
    HWY_UNROLL(4)
    for (int line = 0; line < 4; ++line) {
      const auto bytes = kept(load_codes(w + I::lines + 32 * line));
      const auto first = kept(I::codes(hn::And(bytes, all(15))));
      const auto second = kept(I::codes(hn::And(shift_right<4>(bytes), all(15))));
      HWY_UNROLL(4)
      for (int i = 0; i < rows; ++i) {
        low[i].add(first, four_of(x[i].q + at + 4 * line));
        high[i].add(second, four_of(x[i].q + at + 16 + 4 * line));
      }
    }
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      const auto whole = hn::Add(low[i].whole(), high[i].whole());
      sums.of[i] = hn::MulAdd(hn::Mul(d, in_all(x[i].scale[at / 32])), as_floats(whole), sums.of[i]);
      sums.offsets[i] = hn::MulAdd(d, in_all(x[i].sums[at / 32]), sums.offsets[i]);
    }
  }
};

template <>
struct Interleaved<Q4_0> : InterleavedNibbles<Q4_0> {
  static constexpr int lines = 16;
  static constexpr float offset = Q4_0::shift;
  static HWY_INLINE Column scales(const std::uint8_t* w) { return eight_halves(w); }
  static HWY_INLINE CodeVector codes(CodeVector v) { return v; }
};

template <>
struct Interleaved<Mxfp4> : InterleavedNibbles<Mxfp4> {
  static constexpr int lines = 8;
  static constexpr float offset = Mxfp4::shift;
  static HWY_INLINE Column scales(const std::uint8_t* w) {
    Column d;
    powers<1>(w, 8, &d);
    return d;
  }
  static HWY_INLINE CodeVector codes(CodeVector v) { return look_up(Mxfp4::table, v); }
};

// A block of 256: 8 scales, 8 scales of minimums, 12 lines of 8 bytes with the sub-blocks' own, then 32 lines.
template <>
struct Interleaved<Q4_K> {
  static constexpr bool there = true;
  static constexpr int elements = 256;
  static constexpr float offset = -1;
  // Of each of 8 sub-blocks 8 bytes: scales, then minimums (six_bits has the formula).
  static HWY_INLINE void unpack_scales(const std::uint8_t* w, std::uint8_t* scales) {
    const auto a = load_codes(w + 32), b = load_codes(w + 64), c = load_codes(w + 96);
    hn::Store(hn::And(a, all(63)), Codes(), scales);
    hn::Store(hn::Or(hn::And(c, all(15)), hn::And(shift_right<2>(a), all(0x30))), Codes(), scales + 32);
    hn::Store(hn::And(b, all(63)), Codes(), scales + 64);
    hn::Store(hn::Or(hn::And(shift_right<4>(c), all(15)), hn::And(shift_right<2>(b), all(0x30))), Codes(), scales + 96);
  }
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t apart) {
    HWY_ALIGN std::uint8_t scales[128];
    unpack_scales(w, scales);
    const Column d = eight_halves(w), least = eight_halves(w + 16);
    for (int j = 0; j < 8; ++j, unit.to += apart) {
      for (int line = 0; line < 8; ++line) {
        const auto bytes = load_codes(w + 128 + 32 * (8 * (j / 2) + line));
        unit.set_codes(line, hn::And(j % 2 == 0 ? bytes : shift_right<4>(bytes), all(15)));
      }
      unit.set_scales(hn::Mul(d, eight_bytes(scales + 8 * j)),
                      hn::Mul(hn::Neg(least), eight_bytes(scales + 64 + 8 * j)));
    }
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums) {
    HWY_ALIGN std::uint8_t scales[128];
    unpack_scales(w, scales);
    Column codes[rows], minimums[rows];
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) codes[i] = minimums[i] = hn::Zero(SomeFloats());
    HWY_UNROLL(4)
    for (int p = 0; p < 4; ++p) {  // sub-blocks 2p and 2p + 1
      ColumnSum low[rows], high[rows];
      HWY_UNROLL(8)
      for (int line = 0; line < 8; ++line) {
        const auto bytes = kept(load_codes(w + 128 + 32 * (8 * p + line)));
        const auto first = kept(hn::And(bytes, all(15))), second = kept(hn::And(shift_right<4>(bytes), all(15)));
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i) {
          low[i].add(first, four_of(x[i].q + at + 64 * p + 4 * line));
          high[i].add(second, four_of(x[i].q + at + 64 * p + 32 + 4 * line));
        }
      }
      const auto sub_block = [&](int j, const ColumnSum* dots) RECKON_INTEGERS_ATTR {
        const Column scale = eight_bytes(scales + 8 * j), minimum = eight_bytes(scales + 64 + 8 * j);
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i) {
          codes[i] = hn::MulAdd(hn::Mul(scale, in_all(x[i].scale[at / 32 + j])), as_floats(dots[i].whole()), codes[i]);
          minimums[i] = hn::MulAdd(minimum, in_all(x[i].sums[at / 32 + j]), minimums[i]);
        }
      };
      sub_block(2 * p, low);
      sub_block(2 * p + 1, high);
    }
    const Column d = eight_halves(w), least = eight_halves(w + 16);
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      sums.of[i] = hn::MulAdd(d, codes[i], sums.of[i]);
      sums.offsets[i] = hn::MulAdd(least, minimums[i], sums.offsets[i]);
    }
  }
};

// One block of 32: 8 scales, then 8 lines.
template <>
struct Interleaved<Q8_0> {
  static constexpr bool there = true;
  static constexpr int elements = 32;
  static constexpr float offset = 0;
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t) {
    for (int line = 0; line < 8; ++line) {
      const auto bytes = load_codes(w + 16 + 32 * line);
      if constexpr (Panel<Q8_0>::wide) {  // of four codes two in each of two lines
        const hn::Repartition<std::uint32_t, Codes> d;
        const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(Integers16(), bytes)));
        const auto odd = hn::ShiftRight<8>(hn::BitCast(Integers16(), bytes));
        const auto low = hn::BitCast(d, even), high = hn::BitCast(d, odd);
        const auto upper = hn::Set(d, 0xffff0000U);
        unit.set_codes(2 * line, hn::BitCast(Codes(), hn::Or(hn::AndNot(upper, low), hn::ShiftLeft<16>(high))));
        unit.set_codes(2 * line + 1, hn::BitCast(Codes(), hn::Or(hn::ShiftRight<16>(low), hn::And(upper, high))));
      } else {
        unit.set_codes(line, hn::Xor(bytes, all(0x80)));
      }
    }
    const Column d = eight_halves(w);
    unit.set_scale(d);
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums) {
    const Column d = eight_halves(w);
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      const std::int16_t* halves = x[i].halves + at / 16;
      SignedColumnSum first(-128 * (halves[0] + halves[1])), second(0);
      HWY_UNROLL(4)
      for (int line = 0; line < 8; line += 2) {
        first.add(load_codes(w + 16 + 32 * line), four_of(x[i].q + at + 4 * line));
        second.add(load_codes(w + 48 + 32 * line), four_of(x[i].q + at + 4 * line + 4));
      }
      const auto whole = hn::Add(first.sum, second.sum);
      sums.of[i] = hn::MulAdd(hn::Mul(d, in_all(x[i].scale[at / 32])), as_floats(whole), sums.of[i]);
    }
  }
};

// A block of 256: 8 scales, then four times what 64 elements need, those of 16s + 32r for r = 0 to 3: 4 lines of 8
// bytes with their scales, and 4 times a line of upper bits and two of lower ones (interleave.cpp has the order).
template <>
struct Interleaved<Q6_K> {
  static constexpr bool there = true;
  static constexpr int elements = 256;
  static constexpr float offset = 0;
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t apart) {
    const Column d = eight_halves(w);
    w += 16;
    for (int u = 0; u < 4; ++u, w += bytes_of_64) {
      const PanelUnit first{unit.to + (u / 2 * 8 + u % 2) * apart, unit.line, unit.lines};
      for (int t = 0; t < 4; ++t) {
        CodeVector codes[4];
        six_bits_of(w + 32 + 96 * t, codes);
        for (int r = 0; r < 4; ++r) PanelUnit{first.to + 2 * r * apart, unit.line, unit.lines}.set_codes(t, codes[r]);
      }
      for (int r = 0; r < 4; ++r) {
        const Column scale = hn::Mul(d, eight_signed_bytes(w + 8 * r));
        PanelUnit{first.to + 2 * r * apart, unit.line, unit.lines}.set_scale(scale);
      }
    }
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums) {
    Column codes[rows];
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) codes[i] = hn::Zero(SomeFloats());
    const Column d = eight_halves(w);
    w += 16;
    HWY_UNROLL(4)
    for (int u = 0; u < 4; ++u, w += bytes_of_64) {
      constexpr int at_once = RECKON_VNNI ? 4 : 2;  // that fit a ColumnSum
      const std::int64_t from = at + u / 2 * 128 + u % 2 * 16;
      SumVector whole[rows][4];  // Σ (code − 32)·q
      HWY_UNROLL(4)
      for (int i = 0; i < rows; ++i) {
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r) whole[i][r] = hn::Set(Integers(), Q6_K::shift * x[i].halves[from / 16 + 2 * r]);
      }
      HWY_UNROLL(2)
      for (int t = 0; t < 4; t += at_once) {
        ColumnSum part[rows][4];
        HWY_UNROLL(4)
        for (int v = t; v < t + at_once; ++v) {
          CodeVector six[4];
          six_bits_of(w + 32 + 96 * v, six);
          HWY_UNROLL(4)
          for (int i = 0; i < rows; ++i) {
            HWY_UNROLL(4)
            for (int r = 0; r < 4; ++r) part[i][r].add(six[r], four_of(x[i].q + from + 32 * r + 4 * v));
          }
        }
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i) {
          HWY_UNROLL(4)
          for (int r = 0; r < 4; ++r) whole[i][r] = hn::Add(whole[i][r], part[i][r].whole());
        }
      }
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        const Column scale = eight_signed_bytes(w + 8 * r);
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i)
          codes[i] = hn::MulAdd(hn::Mul(scale, in_all(x[i].scale[from / 32 + r])), as_floats(whole[i][r]), codes[i]);
      }
    }
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) sums.of[i] = hn::MulAdd(d, codes[i], sums.of[i]);
  }

 private:
  static constexpr int bytes_of_64 = 32 + 12 * 32;
  // Of four elements each: the upper bits of all, the lower ones of r = 0 and 2, of 1 and 3.
  static HWY_INLINE void six_bits_of(const std::uint8_t* w, CodeVector* codes) {
    const auto high = kept(load_codes(w)), a = kept(load_codes(w + 32)), b = kept(load_codes(w + 64));
    codes[0] = kept(hn::Or(hn::And(a, all(15)), hn::And(shift_bits<-4>(high), all(0x30))));
    codes[1] = kept(hn::Or(hn::And(b, all(15)), hn::And(shift_bits<-2>(high), all(0x30))));
    codes[2] = kept(hn::Or(hn::And(shift_bits<4>(a), all(15)), hn::And(high, all(0x30))));
    codes[3] = kept(hn::Or(hn::And(shift_bits<4>(b), all(15)), hn::And(shift_bits<2>(high), all(0x30))));
  }
};

// `panels` times 8 rows of W, `apart` bytes from each other: memory is faster read in two places than in one, where it
// is asked for `ahead` bytes before its use. 0: it is not.
template <class Block, int rows, int panels>
HWY_INLINE void interleaved_dots(const std::uint8_t* w, std::int64_t apart, const Activations* x, std::int64_t k,
                                 float* out, std::int64_t out_stride, std::int64_t out_apart, int ahead) {
  using I = Interleaved<Block>;
  constexpr int bytes = 8 * Block::bytes;
  ColumnSums<rows> sums[panels];
  HWY_UNROLL(2)
  for (int p = 0; p < panels; ++p) {
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) sums[p].of[i] = sums[p].offsets[i] = hn::Zero(SomeFloats());
  }
  for (std::int64_t at = 0; at < k; at += I::elements, w += bytes) {
    HWY_UNROLL(2)
    for (int p = 0; p < panels; ++p) {
      if (ahead > 0) {
        HWY_UNROLL(32)
        for (int line = 0; line < bytes; line += 64) hwy::Prefetch(w + p * apart + ahead + line);
      }
      I::template add<rows>(w + p * apart, x, at, sums[p]);
    }
  }
  HWY_UNROLL(2)
  for (int p = 0; p < panels; ++p) {
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      auto sum = sums[p].of[i];
      if constexpr (I::offset != 0) sum = hn::MulAdd(sums[p].offsets[i], in_all(I::offset), sum);
      hn::StoreU(sum, SomeFloats(), out + i * out_stride + p * out_apart);
    }
  }
}

}  // namespace RECKON_INTEGERS
}  // namespace HWY_NAMESPACE
}  // namespace reckon
RECKON_INTEGERS_AFTER;

#endif  // RECKON_WIDE
