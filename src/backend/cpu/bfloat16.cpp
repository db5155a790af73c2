#include "backend/cpu/bfloat16.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/amx.h"
#include "backend/cpu/counters.h"
#include "backend/cpu/instructions.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86_64
#if HWY_COMPILER_GCC_ACTUAL  // g++ 12 warns of what its own intrinsics leave undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

namespace reckon {
namespace {

// Both read blocks of 16 rows of x, or 16 columns of W, by 32 elements of K, with zeros beyond the ends.
constexpr std::int64_t block = 16, step = 32, piece = block * step;
constexpr std::int64_t depth_at_once = 512;
constexpr std::int64_t rows_at_once = 2 * block, columns_at_once = 2 * block;  // of AMX: 2 × 2 blocks of sums
constexpr int amx_parts = 3;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t steps_of(std::int64_t depth) { return ceiling(depth, step); }

// What is packed of the largest tile (cut.cpp) fits the scratch.
static_assert((amx_parts * reuse_rows + reuse_cols) * depth_at_once * 2 <= blas_cols * tile_depth * 4);

}  // namespace

// --- What is read.

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq")
namespace {

// Masks of those that there are, of a step of K and of a block of columns.
inline __mmask32 elements_left(std::int64_t count) {
  return count >= step ? ~__mmask32{0} : static_cast<__mmask32>((std::uint32_t{1} << count) - 1);
}
inline __mmask16 columns_left(std::int64_t count) {
  return count >= block ? __mmask16{0xffff} : count <= 0 ? __mmask16{0} : static_cast<__mmask16>((1U << count) - 1);
}

// The upper half of a float; what is no number stays one.
inline std::uint16_t upper_half(std::uint32_t bits) {
  return static_cast<std::uint16_t>(bits >> 16 | ((bits & 0x7fffffffU) > 0x7f800000U ? 1U : 0U));
}

// x as the sum of three numbers with 8 bits each, a block apart.
inline void take_apart(const float* x, std::int64_t count, std::uint16_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
    to[i] = upper_half(bits);
    float left = x[i];
    for (int part = 1; part < amx_parts; ++part) {
      float taken;
      bits &= 0xffff0000U;
      std::memcpy(&taken, &bits, 4);
      left -= taken;  // exactly
      std::memcpy(&bits, &left, 4);
      to[part * piece + i] = finite ? upper_half(bits) : std::uint16_t{0};
    }
  }
}

// Of a block of 16 rows, for each step amx_parts times 16 × 32.
void pack_parts_of_rows(const Tile& t, std::int64_t begin, std::int64_t depth, std::uint16_t* to) {
  const std::int64_t steps = steps_of(depth), rows = ceiling(t.m, rows_at_once) * rows_at_once;
  if (rows != t.m || depth % step != 0)
    std::fill_n(to, static_cast<std::size_t>(rows * steps * step * amx_parts), std::uint16_t{0});
  for (std::int64_t i = 0; i < t.m; ++i)
    for (std::int64_t s = 0; s < steps; ++s)
      take_apart(t.x + i * t.x_stride + begin + s * step, std::min(step, depth - s * step),
                 to + (i / block * steps + s) * amx_parts * piece + i % block * step);
}

// The lines of memory where eight rows of the results go: far apart, and slow to come.
inline void prefetch_results(const Tile& t, std::int64_t i, std::int64_t j, std::int64_t columns) {
  for (const Tile::Ahead& ahead : t.ahead)
    for (std::int64_t r = i; ahead.data != nullptr && r < std::min(t.m, i + 8); ++r)
      for (std::int64_t c = j; c < j + columns; c += block)
        _mm_prefetch(ahead.data + r * ahead.stride + c, _MM_HINT_T0);
}

// v[i]'s dword j becomes v[j]'s dword i.
inline void transpose(__m512i (&v)[16]) {
  __m512i a[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // 4l + c of rows i to i + 3, in part l of 128 bits
    v[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512i low = _mm512_shuffle_i32x4(v[c], v[4 + c], 0x88), high = _mm512_shuffle_i32x4(v[c], v[4 + c], 0xdd),
                  more_low = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0x88),
                  more_high = _mm512_shuffle_i32x4(v[8 + c], v[12 + c], 0xdd);
    a[c] = _mm512_shuffle_i32x4(low, more_low, 0x88);
    a[8 + c] = _mm512_shuffle_i32x4(low, more_low, 0xdd);
    a[4 + c] = _mm512_shuffle_i32x4(high, more_high, 0x88);
    a[12 + c] = _mm512_shuffle_i32x4(high, more_high, 0xdd);
  }
  for (int i = 0; i < 16; ++i) v[i] = a[i];
}

// So many elements, up to 16, in dwords.
inline __m512i dwords_of(const std::uint16_t* from, std::int64_t count) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(columns_left(count), from));
}

// Of a block of 16 of the columns [j, j + columns), for each step 16 pairs of elements of K × 16 columns × 2; zeros
// beyond the ends.
void pack_columns(const Tile& t, std::int64_t j, std::int64_t columns, std::int64_t begin, std::int64_t depth,
                  std::uint16_t* to) {
  const std::int64_t steps = steps_of(depth);
  const auto* w = static_cast<const std::uint16_t*>(t.w) + begin * t.col_stride;
  for (const std::int64_t end = j + columns; j < end; j += block) {
    const std::int64_t count = std::clamp<std::int64_t>(t.n - j, 0, block);
    for (std::int64_t s = 0; s < steps; ++s, to += piece) {
      const std::int64_t left = depth - s * step;
      __m512i pairs[16];
      if (t.col_stride == 1) {
        const std::uint16_t* from = w + j * t.row_stride + s * step;
        const __mmask32 elements = elements_left(left);
        // 16 streams are more than the processor follows by itself.
        for (std::int64_t c = 0; c < count; ++c) _mm_prefetch(from + c * t.row_stride + 4 * step, _MM_HINT_T0);
        for (std::int64_t c = 0; c < block; ++c)
          pairs[c] = c < count ? _mm512_maskz_loadu_epi16(elements, from + c * t.row_stride) : _mm512_setzero_si512();
        transpose(pairs);
      } else {
        const std::uint16_t* from = w + s * step * t.col_stride + j;
        for (std::int64_t p = 0; p < step; p += 2, from += 2 * t.col_stride)
          pairs[p / 2] =
              _mm512_or_si512(dwords_of(from, p < left ? count : 0),
                              _mm512_slli_epi32(dwords_of(from + t.col_stride, p + 1 < left ? count : 0), 16));
      }
      for (std::int64_t p = 0; p < step / 2; ++p) _mm512_storeu_si512(to + p * step, pairs[p]);
    }
  }
}

}  // namespace
HWY_POP_ATTRIBUTES

// --- Products.

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
namespace {

constexpr int rows_of_sums = 8, blocks_of_sums = 3;  // of the AVX-512 kernel: 24 registers

// x rounded to even, rows below each other by steps: for each step of rows_of_sums rows, so many times 32.
void round_rows(const Tile& t, std::int64_t begin, std::int64_t depth, std::uint16_t* to) {
  const std::int64_t steps = steps_of(depth);
  for (std::int64_t i = 0; i < t.m; ++i) {
    const float* x = t.x + i * t.x_stride + begin;
    std::uint16_t* row = to + (i / rows_of_sums * steps * rows_of_sums + i % rows_of_sums) * step;
    for (std::int64_t s = 0; s < steps; ++s, x += step, row += rows_of_sums * step) {
      const __mmask32 there = elements_left(depth - s * step);
      const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there), x),
                   high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there >> 16), x + 16);
      _mm512_storeu_si512(row, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
  }
}

// 16 columns of results, those that there are.
inline void put(float* out, __mmask16 columns, __m512 sums, bool add) {
  if (add) sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(columns, out));
  _mm512_mask_storeu_ps(out, columns, sums);
}

// Rows [i, i + 8) by `blocks` blocks of columns from j on.
template <int blocks>
inline void block_of_sums(const std::uint16_t* x, const std::uint16_t* w, std::int64_t steps, const Tile& t,
                          std::int64_t i, std::int64_t j, bool add) {
  constexpr int rows = rows_of_sums;
  __m512 sums[rows][blocks];
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < blocks; ++v) sums[r][v] = _mm512_setzero_ps();
  for (std::int64_t s = 0; s < steps; ++s, x += rows * step)
    for (std::int64_t p = 0; p < step / 2; ++p) {
      __m512bh weights[blocks];
      for (int v = 0; v < blocks; ++v)
        weights[v] = (__m512bh)_mm512_loadu_si512(w + (v * steps + s) * piece + p * step);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, x + r * step + 2 * p, 4);
        const auto element = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 4
        for (int v = 0; v < blocks; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], element, weights[v]);
      }
    }
  for (int r = 0; r < rows && i + r < t.m; ++r)
    for (int v = 0; v < blocks; ++v)
      put(t.out + (i + r) * t.out_stride + j + v * block, columns_left(t.n - j - v * block), sums[r][v], add);
}

// W is packed as it is used, so that it is still in the nearest cache.
void multiply_avx512(const Tile& t, std::int64_t begin, std::int64_t depth, const std::uint16_t* x, std::uint16_t* w) {
  const std::int64_t steps = steps_of(depth);
  for (std::int64_t j = 0, blocks; j < t.n; j += blocks * block) {
    blocks = t.n - j > 2 * block ? blocks_of_sums : 1;
    pack_columns(t, j, blocks * block, begin, depth, w);
    for (std::int64_t i = 0; i < t.m; i += rows_of_sums) {
      if (begin + depth == t.k) prefetch_results(t, i, j, blocks * block);
      const std::uint16_t* rows = x + i * steps * step;
      blocks == 1 ? block_of_sums<1>(rows, w, steps, t, i, j, begin > 0)
                  : block_of_sums<blocks_of_sums>(rows, w, steps, t, i, j, begin > 0);
    }
  }
}

}  // namespace
HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")
namespace {

// Registers 0 to 3 are sums, 4 and 5 rows of x, 6 and 7 columns of W.
void multiply_amx(const std::uint16_t* x, const std::uint16_t* w, std::int64_t steps, const Tile& t, bool add) {
  static constexpr AmxShapes shapes;
  _tile_loadconfig(&shapes);
  alignas(64) float sums[4][block * block];
  constexpr std::int64_t line = 64;  // bytes
  for (std::int64_t j = 0; j < t.n; j += columns_at_once) {
    const std::uint16_t *first = w + j / block * steps * piece, *second = first + steps * piece;
    for (std::int64_t i = 0; i < t.m; i += rows_at_once) {
      const std::uint16_t *upper = x + i / block * steps * amx_parts * piece,
                          *lower = upper + steps * amx_parts * piece;
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (std::int64_t s = 0; s < steps; ++s) {
        _tile_loadd(6, first + s * piece, line);
        _tile_loadd(7, second + s * piece, line);
        for (std::int64_t part = s * amx_parts; part < (s + 1) * amx_parts; ++part) {
          _tile_loadd(4, upper + part * piece, line);
          _tile_loadd(5, lower + part * piece, line);
          _tile_dpbf16ps(0, 4, 6);
          _tile_dpbf16ps(1, 4, 7);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
      }
      _tile_stored(0, sums[0], line);
      _tile_stored(1, sums[1], line);
      _tile_stored(2, sums[2], line);
      _tile_stored(3, sums[3], line);
      for (std::int64_t r = 0; r < rows_at_once && i + r < t.m; ++r)
        for (std::int64_t c = 0; c < 2 && j + c * block < t.n; ++c) {
          const std::int64_t count = t.n - j - c * block;
          const auto columns = static_cast<__mmask16>(count >= block ? 0xffffU : (1U << count) - 1);
          float* out = t.out + (i + r) * t.out_stride + j + c * block;
          __m512 of = _mm512_load_ps(sums[r / block * 2 + c] + r % block * block);
          if (add) of = _mm512_add_ps(of, _mm512_maskz_loadu_ps(columns, out));
          _mm512_mask_storeu_ps(out, columns, of);
        }
    }
  }
  _tile_release();
}

}  // namespace
HWY_POP_ATTRIBUTES

void bfloat16_tile(const Tile& t, float* scratch) {
  const bool amx = bfloat16_instructions() == Bfloat16::amx;
  const std::int64_t rows = ceiling(t.m, rows_at_once) * rows_at_once,
                     columns = ceiling(t.n, columns_at_once) * columns_at_once;
  auto* x = reinterpret_cast<std::uint16_t*>(scratch);
  for (std::int64_t begin = 0; begin < t.k; begin += depth_at_once) {
    const std::int64_t depth = std::min(depth_at_once, t.k - begin), steps = steps_of(depth);
    std::uint16_t* w = x + rows * steps * step * (amx ? amx_parts : 1);
    if (amx) {
      pack_parts_of_rows(t, begin, depth, x);
      pack_columns(t, 0, columns, begin, depth, w);
      multiply_amx(x, w, steps, t, begin > 0);
    } else {
      round_rows(t, begin, depth, x);
      multiply_avx512(t, begin, depth, x, w);
    }
  }
  count_products(t.m * t.n * t.k);
}

}  // namespace reckon

#else

void reckon::bfloat16_tile(const Tile&, float*) {}

#endif

namespace reckon {

bool bfloat16_wanted(DType dtype, std::int64_t rows) {
  return dtype == DType::bfloat16 && rows > few_rows && bfloat16_instructions() != Bfloat16::none;
}

bool rounds_to_bfloat16(DType dtype, std::int64_t rows) {
  if (is_quantised(dtype)) return rows > few_rows && amx_quantised();
  return bfloat16_wanted(dtype, rows) && bfloat16_instructions() == Bfloat16::avx512;
}

}  // namespace reckon
