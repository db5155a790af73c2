// Many rows of activations by panels of quantised weights (quantised-inl.h), in AMX's registers of 16 rows of 64 bytes:
// one instruction multiplies 16 rows by 16 columns, 32 elements of K deep.
#include <algorithm>
#include <cstring>

#include "backend/cpu/amx.h"
#include "backend/cpu/quantised.h"
#include "hwy/highway.h"

namespace reckon {
namespace {

constexpr std::int64_t block = 16;  // rows, or columns

}  // namespace

std::int64_t amx_packed(std::int64_t rows, std::int64_t k) { return (rows + block - 1) / block * block * k; }

}  // namespace reckon

#if HWY_ARCH_X86_64
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")
namespace reckon {
namespace {

constexpr std::int64_t step = 32, piece = block * step;  // elements of K, and those of a block

inline __m512 floats_of(__m512i v) {  // (g++ 12 warns wrongly about _mm512_cvtepi32_ps: GCC bug 105593)
  return _mm512_maskz_cvtepi32_ps(0xffff, v);
}

inline __m512 sixteen_of(const std::byte* codes) {
  return floats_of(_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes))));
}

// What the uppermost bytes of 16 codes stand for.
template <bool has_offset>
inline __m512 values_of(__m512i codes, __m512 scale, __m512 offset) {
  const __m512 code = floats_of(_mm512_maskz_srai_epi32(0xffff, codes, 24));
  return has_offset ? _mm512_fmadd_ps(code, scale, offset) : _mm512_mul_ps(code, scale);
}

// 16 pairs, each of an element of `even` and one of `odd`.
inline void put_pairs(__m512 even, __m512 odd, __m512i by_turns, std::uint16_t* to) {
  const auto both = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi16(0xffffffffU, by_turns, both));
}

// Two lines of bfloat16 from a line of codes, four of each of 16 columns: elements 0 and 1, then 2 and 3.
template <bool has_offset>
inline void unpack_line(__m512i codes, __m512 scale, __m512 offset, __m512i by_turns, std::uint16_t* to) {
  const __m512 first = values_of<has_offset>(_mm512_maskz_slli_epi32(0xffff, codes, 24), scale, offset),
               second = values_of<has_offset>(_mm512_maskz_slli_epi32(0xffff, codes, 16), scale, offset),
               third = values_of<has_offset>(_mm512_maskz_slli_epi32(0xffff, codes, 8), scale, offset),
               fourth = values_of<has_offset>(codes, scale, offset);
  put_pairs(first, second, by_turns, to);
  put_pairs(third, fourth, by_turns, to + step);
}

template <bool has_offset>
void unpack(const AmxPanels& panels, const std::uint8_t* units, std::uint16_t* to) {
  constexpr std::int64_t line = 64;
  const std::int64_t lines = panels.unit / 4;
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(panels.shift));
  alignas(64) std::uint16_t order[step];
  for (std::uint16_t i = 0; i < block; ++i) {
    order[2 * i] = i;
    order[2 * i + 1] = static_cast<std::uint16_t>(i + block);
  }
  const __m512i by_turns = _mm512_load_si512(order);
  for (std::int64_t u = 0; u < panels.count; ++u, units += (lines + 2) * line) {
    const __m512 scale = _mm512_loadu_ps(units + lines * line);
    const __m512 offset = has_offset ? _mm512_loadu_ps(units + (lines + 1) * line) : _mm512_setzero_ps();
    for (std::int64_t l = 0; l < lines; ++l, to += 2 * step)
      unpack_line<has_offset>(_mm512_add_epi8(_mm512_loadu_si512(units + l * line), shift), scale, offset, by_turns,
                              to);
  }
}

// A block's rows of results, those that there are.
inline void add_sums(const float* sums, std::int64_t rows, float* out, std::int64_t stride) {
  for (std::int64_t r = 0; r < std::min(rows, block); ++r)
    _mm512_storeu_ps(out + r * stride,
                     _mm512_add_ps(_mm512_loadu_ps(out + r * stride), _mm512_load_ps(sums + r * block)));
}

// Registers 0 to 3 are sums, 4 and 5 rows of x, 6 and 7 columns of W. The rows of blocks that are not there are read
// where the last one's are, and their sums passed over.
struct Rows {
  const std::uint16_t* x;
  std::int64_t apart, rows;
  const std::uint16_t* of(std::int64_t i) const { return x + std::min(i, (rows - 1) / block) * apart; }
  std::int64_t left(std::int64_t i) const { return rows - i * block; }
};

constexpr std::int64_t line = 64;  // bytes

// Two blocks of rows by two of columns.
inline void two_by_two(const Rows& x, std::int64_t i, const std::uint16_t* first, const std::uint16_t* second,
                       std::int64_t steps, float (&sums)[4][block * block], float* out, std::int64_t stride) {
  const std::uint16_t *upper = x.of(i), *lower = x.of(i + 1);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t s = 0; s < steps; ++s) {
    _tile_loadd(6, first + s * piece, line);
    _tile_loadd(4, upper + s * piece, line);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, second + s * piece, line);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower + s * piece, line);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums[0], line);
  _tile_stored(1, sums[1], line);
  _tile_stored(2, sums[2], line);
  _tile_stored(3, sums[3], line);
  float* to = out + i * block * stride;
  add_sums(sums[0], x.left(i), to, stride);
  add_sums(sums[1], x.left(i), to + block, stride);
  add_sums(sums[2], x.left(i + 1), to + block * stride, stride);
  add_sums(sums[3], x.left(i + 1), to + block * stride + block, stride);
}

// Four blocks of rows by one of columns.
inline void four_by_one(const Rows& x, std::int64_t i, const std::uint16_t* columns, std::int64_t steps,
                        float (&sums)[4][block * block], float* out, std::int64_t stride) {
  const std::uint16_t *first = x.of(i), *second = x.of(i + 1), *third = x.of(i + 2), *fourth = x.of(i + 3);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t s = 0; s < steps; ++s) {
    _tile_loadd(6, columns + s * piece, line);
    _tile_loadd(4, first + s * piece, line);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, second + s * piece, line);
    _tile_dpbf16ps(1, 5, 6);
    _tile_loadd(7, third + s * piece, line);
    _tile_dpbf16ps(2, 7, 6);
    _tile_loadd(4, fourth + s * piece, line);
    _tile_dpbf16ps(3, 4, 6);
  }
  _tile_stored(0, sums[0], line);
  _tile_stored(1, sums[1], line);
  _tile_stored(2, sums[2], line);
  _tile_stored(3, sums[3], line);
  for (std::int64_t r = 0; r < 4; ++r) add_sums(sums[r], x.left(i + r), out + (i + r) * block * stride, stride);
}

}  // namespace

void amx_pack_rows(const std::byte* x8, std::int64_t rows, std::int64_t k, std::int64_t which, std::uint16_t* packed) {
  const std::int64_t bytes = row_bytes(DType::activation8, k);
  std::uint16_t* to = packed + which * block * k;
  for (std::int64_t r = 0; r < block; ++r) {
    const std::int64_t row = which * block + r;
    const std::byte* x = x8 + row * bytes;
    for (std::int64_t p = 0; p < k; p += step) {
      std::uint16_t* line_of = to + p * block + r * step;
      if (row >= rows) {
        _mm512_storeu_si512(line_of, _mm512_setzero_si512());
        continue;
      }
      float scale;
      std::memcpy(&scale, x + k + p / 32 * 4, 4);
      const __m512 by = _mm512_set1_ps(scale);
      const __m512 first = _mm512_mul_ps(sixteen_of(x + p), by), second = _mm512_mul_ps(sixteen_of(x + p + block), by);
      _mm512_storeu_si512(line_of, (__m512i)_mm512_cvtne2ps_pbh(second, first));
    }
  }
}

void amx_multiply(const AmxPanels& panels, const std::uint16_t* x, std::int64_t x_k, std::int64_t rows, float* out,
                  std::int64_t out_stride, std::uint16_t* unpacked) {
  static constexpr AmxShapes shapes;
  const std::int64_t depth = panels.count * panels.unit, steps = depth / step, blocks = (rows + block - 1) / block;
  for (std::int64_t v = 0; v < amx_panels; ++v) {
    const std::uint8_t* units = panels.units + v * panels.apart;
    std::uint16_t* to = unpacked + v * depth * block;
    panels.has_offset ? unpack<true>(panels, units, to) : unpack<false>(panels, units, to);
  }
  const std::uint16_t *second = unpacked + depth * block, *third = second + depth * block;
  const Rows of_x{x, block * x_k, rows};
  alignas(64) float sums[4][block * block];
  _tile_loadconfig(&shapes);
  for (std::int64_t i = 0; i < blocks; i += 2) two_by_two(of_x, i, unpacked, second, steps, sums, out, out_stride);
  for (std::int64_t i = 0; i < blocks; i += 4) four_by_one(of_x, i, third, steps, sums, out + 2 * block, out_stride);
  _tile_release();
}

}  // namespace reckon
HWY_POP_ATTRIBUTES

#else

namespace reckon {
void amx_pack_rows(const std::byte*, std::int64_t, std::int64_t, std::int64_t, std::uint16_t*) {}
void amx_multiply(const AmxPanels&, const std::uint16_t*, std::int64_t, std::int64_t, float*, std::int64_t,
                  std::uint16_t*) {}
}  // namespace reckon

#endif
