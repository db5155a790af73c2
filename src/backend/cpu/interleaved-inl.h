// Dot products with interleaved weights (interleave.h), of as many rows of W at a time as a vector has lanes. Included
// as quantised-inl.h is.

#if RECKON_WIDE

RECKON_INTEGERS_BEFORE;
namespace reckon {
namespace HWY_NAMESPACE {
namespace RECKON_INTEGERS {

using Line = hn::Vec<Lines>;     // four codes of each row of W
using Column = hn::Vec<Floats>;  // a number for each
constexpr int rows_of_line = panel_columns, line_bytes = 4 * rows_of_line;

// Σ code·q of a few elements.
struct ColumnSum {
#if RECKON_VNNI
  hn::Vec<Lanes32> sum;
  HWY_INLINE ColumnSum() : sum(hn::Zero(Lanes32())) {}  // an implicit one would not have the target's attributes
  HWY_INLINE void add(Line w, hn::Vec<SignedLines> x) { sum = add_dot(sum, w, x); }
  HWY_INLINE hn::Vec<Lanes32> whole() const { return sum; }
#else
  hn::Vec<Lanes16> pairs;  // 32,767 at most: 8 products of codes up to 15, 4 up to 31 …
  HWY_INLINE ColumnSum() : pairs(hn::Zero(Lanes16())) {}
  HWY_INLINE void add(Line w, hn::Vec<SignedLines> x) { pairs = kept(hn::Add(pairs, pair_products(w, x))); }
  HWY_INLINE hn::Vec<Lanes32> whole() const { return dot_pairs(pairs, hn::Set(Lanes16(), std::int16_t{1})); }
#endif
};

// Of codes of 8 bits, whose 16-bit sums would not fit: `start` is −128·Σ q, for codes are made unsigned where that is
// faster.
struct SignedColumnSum {
  hn::Vec<Lanes32> sum;
#if RECKON_VNNI
  HWY_INLINE explicit SignedColumnSum(std::int32_t start) : sum(hn::Set(Lanes32(), start)) {}
  HWY_INLINE void add(Line w, hn::Vec<SignedLines> x) {
    sum = add_dot(sum, hn::Xor(w, hn::Set(Lines(), std::uint8_t{0x80})), x);
  }
#else
  HWY_INLINE explicit SignedColumnSum(std::int32_t) : sum(hn::Zero(Lanes32())) {}
  HWY_INLINE void add(Line w, hn::Vec<SignedLines> x) {
#if HWY_TARGET == HWY_AVX2
    sum = hn::Add(sum, dot<true>(w, x));
#else  // which has no such products in vectors of 64 bytes
    const auto all_x = hn::LowerHalf(Signed8(), x);
    sum = hn::Add(sum, hn::Combine(Lanes32(), dot<true>(hn::UpperHalf(Codes(), w), all_x),
                                   dot<true>(hn::LowerHalf(Codes(), w), all_x)));
#endif
  }
#endif
};

HWY_INLINE Line load_line(const std::uint8_t* from) { return hn::LoadU(Lines(), from); }
HWY_INLINE Line bits_of(Line v, int mask) { return hn::And(v, hn::Set(Lines(), static_cast<std::uint8_t>(mask))); }
HWY_INLINE hn::Vec<SignedLines> four_of(const std::int8_t* x) {
  std::int32_t four;
  std::memcpy(&four, x, 4);
  return hn::BitCast(SignedLines(), hn::Set(Lanes32(), four));
}
HWY_INLINE Column in_all(float value) { return hn::Set(Floats(), value); }
HWY_INLINE Column as_floats(hn::Vec<Lanes32> sum) { return hn::ConvertTo(Floats(), sum); }
HWY_INLINE Column column_of_halves(const std::uint8_t* from) {
  return load(Floats(), reinterpret_cast<const hwy::float16_t*>(from));
}
HWY_INLINE Column column_of_bytes(const std::uint8_t* from) {
  return as_floats(hn::PromoteTo(Lanes32(), hn::LoadU(hn::Rebind<std::uint8_t, Lanes32>(), from)));
}
HWY_INLINE Column column_of_signed_bytes(const std::uint8_t* from) {
  const hn::Rebind<std::int8_t, Lanes32> d;
  return as_floats(hn::PromoteTo(Lanes32(), hn::LoadU(d, reinterpret_cast<const std::int8_t*>(from))));
}

// Asks for what lies `ahead` bytes behind these. 0: for nothing.
HWY_INLINE void ask_for(const std::uint8_t* from, int bytes, int ahead) {
  if (ahead == 0) return;
  HWY_UNROLL(16)
  for (int line = 0; line < bytes; line += 64) hwy::Prefetch(from + ahead + line);
}

// The sums of these rows of W with `rows` of x: those with codes, and what `offset` is times.
template <int rows>
struct ColumnSums {
  Column of[rows], offsets[rows];
};

template <class Block>
struct Interleaved {
  static constexpr bool there = false;
};

// A unit of a panel (quantised-inl.h): scales behind `lines` of codes, then offsets.
struct PanelUnit {
  std::uint8_t* to;
  std::int64_t lines;
  HWY_INLINE void set_codes(std::int64_t at, Line codes) const { hn::StoreU(codes, Lines(), to + at * line_bytes); }
  HWY_INLINE void set_scale(Column scale) const {
    hn::StoreU(scale, Floats(), reinterpret_cast<float*>(to + lines * line_bytes));
  }
  HWY_INLINE void set_scales(Column scale, Column offset) const {
    set_scale(scale);
    hn::StoreU(offset, Floats(), reinterpret_cast<float*>(to + (lines + 1) * line_bytes));
  }
};

// Of each row: one block of 32. Scales, then 4 lines; the lower halves of their bytes are the first 16 elements.
template <class Block>
struct InterleavedNibbles {
  static constexpr bool there = true;
  static constexpr int elements = 32;
  // The units of a block, `apart` bytes from each other.
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t) {
    using I = Interleaved<Block>;
    for (int line = 0; line < 4; ++line) {
      const auto bytes = load_line(w + I::lines + line_bytes * line);
      unit.set_codes(line, I::codes(bits_of(bytes, 15)));
      unit.set_codes(line + 4, I::codes(bits_of(shift_right<4>(bytes), 15)));
    }
    const Column d = I::scales(w);
    unit.set_scale(d);
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums,
                             int ahead) {
    using I = Interleaved<Block>;
    ask_for(w, I::lines + 4 * line_bytes, ahead);
    const Column d = I::scales(w);
    ColumnSum low[rows], high[rows];
    HWY_UNROLL(4)
    for (int line = 0; line < 4; ++line) {
      const auto bytes = kept(load_line(w + I::lines + line_bytes * line));
      const auto first = kept(I::codes(bits_of(bytes, 15)));
      const auto second = kept(I::codes(bits_of(shift_right<4>(bytes), 15)));
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
  static constexpr int lines = 2 * rows_of_line;  // begin there
  static constexpr float offset = Q4_0::shift;
  static HWY_INLINE Column scales(const std::uint8_t* w) { return column_of_halves(w); }
  static HWY_INLINE Line codes(Line v) { return v; }
};

template <>
struct Interleaved<Mxfp4> : InterleavedNibbles<Mxfp4> {
  static constexpr int lines = rows_of_line;
  static constexpr float offset = Mxfp4::shift;
  static HWY_INLINE Column scales(const std::uint8_t* w) {
    return power(hn::PromoteTo(Lanes32(), hn::LoadU(hn::Rebind<std::uint8_t, Lanes32>(), w)));
  }
  static HWY_INLINE Line codes(Line v) { return look_up(Mxfp4::table, v); }
};

// A block of 256: scales, scales of minimums, 12 bytes of each row with the sub-blocks' own, then 32 lines.
template <>
struct Interleaved<Q4_K> {
  static constexpr bool there = true;
  static constexpr int elements = 256;
  static constexpr float offset = -1;
  static constexpr int lines = 16 * rows_of_line;  // begin there
  // Of each of 8 sub-blocks a byte of each row: scales, then minimums (six_bits has the formula).
  static HWY_INLINE void unpack_scales(const std::uint8_t* w, std::uint8_t* scales) {
    const std::uint8_t* from = w + 4 * rows_of_line;
    const auto a = load_line(from), b = load_line(from + line_bytes), c = load_line(from + 2 * line_bytes);
    const auto low_c = bits_of(c, 15), high_c = bits_of(shift_right<4>(c), 15);
    hn::StoreU(bits_of(a, 63), Lines(), scales);
    hn::StoreU(hn::Or(low_c, bits_of(shift_right<2>(a), 0x30)), Lines(), scales + line_bytes);
    hn::StoreU(bits_of(b, 63), Lines(), scales + 2 * line_bytes);
    hn::StoreU(hn::Or(high_c, bits_of(shift_right<2>(b), 0x30)), Lines(), scales + 3 * line_bytes);
  }
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t apart) {
    HWY_ALIGN std::uint8_t scales[4 * line_bytes];
    unpack_scales(w, scales);
    const Column d = column_of_halves(w), least = column_of_halves(w + 2 * rows_of_line);
    for (int j = 0; j < 8; ++j, unit.to += apart) {
      for (int line = 0; line < 8; ++line) {
        const auto bytes = load_line(w + lines + line_bytes * (8 * (j / 2) + line));
        unit.set_codes(line, bits_of(j % 2 == 0 ? bytes : shift_right<4>(bytes), 15));
      }
      unit.set_scales(hn::Mul(d, column_of_bytes(scales + rows_of_line * j)),
                      hn::Mul(hn::Neg(least), column_of_bytes(scales + rows_of_line * (8 + j))));
    }
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums,
                             int ahead) {
    HWY_ALIGN std::uint8_t scales[4 * line_bytes];
    ask_for(w, lines, ahead);
    unpack_scales(w, scales);
    Column codes[rows], minimums[rows];
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) codes[i] = minimums[i] = hn::Zero(Floats());
    // Sub-blocks 2p and 2p + 1. Not unrolled: the processor's own prefetcher follows the addresses of one instruction.
    for (int p = 0; p < 4; ++p) {
      const std::uint8_t* pair = w + lines + line_bytes * 8 * p;
      ask_for(pair, 8 * line_bytes, ahead);
      ColumnSum low[rows], high[rows];
      HWY_UNROLL(8)
      for (int line = 0; line < 8; ++line) {
        const auto bytes = kept(load_line(pair + line_bytes * line));
        const auto first = kept(bits_of(bytes, 15)), second = kept(bits_of(shift_right<4>(bytes), 15));
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i) {
          low[i].add(first, four_of(x[i].q + at + 64 * p + 4 * line));
          high[i].add(second, four_of(x[i].q + at + 64 * p + 32 + 4 * line));
        }
      }
      const auto sub_block = [&](int j, const ColumnSum* dots) RECKON_INTEGERS_ATTR {
        const Column scale = column_of_bytes(scales + rows_of_line * j),
                     minimum = column_of_bytes(scales + rows_of_line * (8 + j));
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i) {
          codes[i] = hn::MulAdd(hn::Mul(scale, in_all(x[i].scale[at / 32 + j])), as_floats(dots[i].whole()), codes[i]);
          minimums[i] = hn::MulAdd(minimum, in_all(x[i].sums[at / 32 + j]), minimums[i]);
        }
      };
      sub_block(2 * p, low);
      sub_block(2 * p + 1, high);
    }
    const Column d = column_of_halves(w), least = column_of_halves(w + 2 * rows_of_line);
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      sums.of[i] = hn::MulAdd(d, codes[i], sums.of[i]);
      sums.offsets[i] = hn::MulAdd(least, minimums[i], sums.offsets[i]);
    }
  }
};

// One block of 32: scales, then 8 lines.
template <>
struct Interleaved<Q8_0> {
  static constexpr bool there = true;
  static constexpr int elements = 32;
  static constexpr float offset = 0;
  static constexpr int lines = 2 * rows_of_line;  // begin there
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t) {
    for (int line = 0; line < 8; ++line) {
      const auto bytes = load_line(w + lines + line_bytes * line);
      if constexpr (Panel<Q8_0>::wide) {  // of four codes two in each of two lines
        const hn::Repartition<std::uint32_t, Lines> d;
        const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(Lanes16(), bytes)));
        const auto odd = hn::ShiftRight<8>(hn::BitCast(Lanes16(), bytes));
        const auto low = hn::BitCast(d, even), high = hn::BitCast(d, odd);
        const auto upper = hn::Set(d, 0xffff0000U);
        unit.set_codes(2 * line, hn::BitCast(Lines(), hn::Or(hn::AndNot(upper, low), hn::ShiftLeft<16>(high))));
        unit.set_codes(2 * line + 1, hn::BitCast(Lines(), hn::Or(hn::ShiftRight<16>(low), hn::And(upper, high))));
      } else {
        unit.set_codes(line, hn::Xor(bytes, hn::Set(Lines(), std::uint8_t{0x80})));
      }
    }
    unit.set_scale(column_of_halves(w));
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums,
                             int ahead) {
    ask_for(w, lines + 8 * line_bytes, ahead);
    const Column d = column_of_halves(w);
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      const std::int16_t* halves = x[i].halves + at / 16;
      SignedColumnSum first(-128 * (halves[0] + halves[1])), second(0);
      HWY_UNROLL(4)
      for (int line = 0; line < 8; line += 2) {
        first.add(load_line(w + lines + line_bytes * line), four_of(x[i].q + at + 4 * line));
        second.add(load_line(w + lines + line_bytes * (line + 1)), four_of(x[i].q + at + 4 * line + 4));
      }
      const auto whole = hn::Add(first.sum, second.sum);
      sums.of[i] = hn::MulAdd(hn::Mul(d, in_all(x[i].scale[at / 32])), as_floats(whole), sums.of[i]);
    }
  }
};

// A block of 256: scales, then four times what 64 elements need, those of 16s + 32r for r = 0 to 3: 4 bytes of each row
// with their scales, and 4 times a line of upper bits and two of lower ones (interleave.cpp has the order).
template <>
struct Interleaved<Q6_K> {
  static constexpr bool there = true;
  static constexpr int elements = 256;
  static constexpr float offset = 0;
  static HWY_INLINE void unpack(const std::uint8_t* w, PanelUnit unit, std::int64_t apart) {
    const Column d = column_of_halves(w);
    w += 2 * rows_of_line;
    for (int u = 0; u < 4; ++u, w += bytes_of_64) {
      const PanelUnit first{unit.to + (u / 2 * 8 + u % 2) * apart, unit.lines};
      for (int t = 0; t < 4; ++t) {
        Line codes[4];
        six_bits_of(w + line_bytes * (1 + 3 * t), codes);
        for (int r = 0; r < 4; ++r) PanelUnit{first.to + 2 * r * apart, unit.lines}.set_codes(t, codes[r]);
      }
      for (int r = 0; r < 4; ++r) {
        const Column scale = hn::Mul(d, column_of_signed_bytes(w + rows_of_line * r));
        PanelUnit{first.to + 2 * r * apart, unit.lines}.set_scale(scale);
      }
    }
  }
  template <int rows>
  static HWY_INLINE void add(const std::uint8_t* w, const Activations* x, std::int64_t at, ColumnSums<rows>& sums,
                             int ahead) {
    Column codes[rows];
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) codes[i] = hn::Zero(Floats());
    const Column d = column_of_halves(w);
    w += 2 * rows_of_line;
    // Not unrolled, as above.
    for (int u = 0; u < 4; ++u, w += bytes_of_64) {
      ask_for(w, line_bytes, ahead);
      constexpr int at_once = RECKON_VNNI ? 4 : 2;  // that fit a ColumnSum
      const std::int64_t from = at + u / 2 * 128 + u % 2 * 16;
      hn::Vec<Lanes32> whole[rows][4];  // Σ (code − 32)·q
      HWY_UNROLL(4)
      for (int i = 0; i < rows; ++i) {
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r) whole[i][r] = hn::Set(Lanes32(), Q6_K::shift * x[i].halves[from / 16 + 2 * r]);
      }
      HWY_UNROLL(2)
      for (int t = 0; t < 4; t += at_once) {
        ColumnSum part[rows][4];
        HWY_UNROLL(4)
        for (int v = t; v < t + at_once; ++v) {
          const std::uint8_t* from_line = w + line_bytes * (1 + 3 * v);
          ask_for(from_line, 3 * line_bytes, ahead);
          Line six[4];
          six_bits_of(from_line, six);
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
        const Column scale = column_of_signed_bytes(w + rows_of_line * r);
        HWY_UNROLL(4)
        for (int i = 0; i < rows; ++i)
          codes[i] = hn::MulAdd(hn::Mul(scale, in_all(x[i].scale[from / 32 + r])), as_floats(whole[i][r]), codes[i]);
      }
    }
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) sums.of[i] = hn::MulAdd(d, codes[i], sums.of[i]);
  }

 private:
  static constexpr int bytes_of_64 = 13 * line_bytes;
  // Of four elements each: the upper bits of all, the lower ones of r = 0 and 2, of 1 and 3.
  static HWY_INLINE void six_bits_of(const std::uint8_t* w, Line* codes) {
    const auto high = kept(load_line(w)), a = kept(load_line(w + line_bytes)), b = kept(load_line(w + 2 * line_bytes));
    codes[0] = kept(hn::Or(bits_of(a, 15), bits_of(shift_bits<-4>(high), 0x30)));
    codes[1] = kept(hn::Or(bits_of(b, 15), bits_of(shift_bits<-2>(high), 0x30)));
    codes[2] = kept(hn::Or(bits_of(shift_bits<4>(a), 15), bits_of(high, 0x30)));
    codes[3] = kept(hn::Or(bits_of(shift_bits<4>(b), 15), bits_of(shift_bits<2>(high), 0x30)));
  }
};

// `panels` times so many rows of W, `apart` bytes from each other: memory is faster read in two places than in one,
// where it is asked for `ahead` bytes before its use. 0: it is not.
template <class Block, int rows, int panels>
HWY_INLINE void interleaved_dots(const std::uint8_t* w, std::int64_t apart, const Activations* x, std::int64_t k,
                                 float* out, std::int64_t out_stride, std::int64_t out_apart, int ahead) {
  using I = Interleaved<Block>;
  constexpr int bytes = rows_of_line * Block::bytes;
  ColumnSums<rows> sums[panels];
  HWY_UNROLL(2)
  for (int p = 0; p < panels; ++p) {
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) sums[p].of[i] = sums[p].offsets[i] = hn::Zero(Floats());
  }
  for (std::int64_t at = 0; at < k; at += I::elements, w += bytes) {
    HWY_UNROLL(2)
    for (int p = 0; p < panels; ++p) I::template add<rows>(w + p * apart, x, at, sums[p], ahead);
  }
  HWY_UNROLL(2)
  for (int p = 0; p < panels; ++p) {
    HWY_UNROLL(4)
    for (int i = 0; i < rows; ++i) {
      auto sum = sums[p].of[i];
      if constexpr (I::offset != 0) sum = hn::MulAdd(sums[p].offsets[i], in_all(I::offset), sum);
      hn::StoreU(sum, Floats(), out + i * out_stride + p * out_apart);
    }
  }
}

}  // namespace RECKON_INTEGERS
}  // namespace HWY_NAMESPACE
}  // namespace reckon
RECKON_INTEGERS_AFTER;

#endif  // RECKON_WIDE
