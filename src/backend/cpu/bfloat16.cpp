#include "backend/cpu/bfloat16.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/amx.h"
#include "backend/cpu/counters.h"
#include "backend/cpu/instructions.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86_64
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

// The upper half of a float; what is no number stays one.
inline std::uint16_t upper_half(std::uint32_t bits) {
  return static_cast<std::uint16_t>(bits >> 16 | ((bits & 0x7fffffffU) > 0x7f800000U ? 1U : 0U));
}

// x rounded to even, or as the sum of three numbers with 8 bits each: `parts` of them, a block apart.
template <int parts>
inline void take_apart(const float* x, std::int64_t count, std::uint16_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
    if (parts == 1) {
      to[i] = upper_half(finite ? bits + 0x7fffU + (bits >> 16 & 1U) : bits);
      continue;
    }
    to[i] = upper_half(bits);
    float left = x[i];
    for (int part = 1; part < parts; ++part) {
      float taken;
      bits &= 0xffff0000U;
      std::memcpy(&taken, &bits, 4);
      left -= taken;  // exactly
      std::memcpy(&bits, &left, 4);
      to[part * piece + i] = finite ? upper_half(bits) : std::uint16_t{0};
    }
  }
}

// Of a block of 16 rows, for each step `parts` times 16 × 32.
template <int parts>
void pack_rows(const Tile& t, std::int64_t begin, std::int64_t depth, std::uint16_t* to) {
  const std::int64_t steps = steps_of(depth), rows = ceiling(t.m, rows_at_once) * rows_at_once;
  if (rows != t.m || depth % step != 0)
    std::fill_n(to, static_cast<std::size_t>(rows * steps * step * parts), std::uint16_t{0});
  for (std::int64_t i = 0; i < t.m; ++i)
    for (std::int64_t s = 0; s < steps; ++s)
      take_apart<parts>(t.x + i * t.x_stride + begin + s * step, std::min(step, depth - s * step),
                        to + (i / block * steps + s) * parts * piece + i % block * step);
}

// Of a block of 16 columns, for each step 16 pairs of elements of K × 16 columns × 2.
void pack_columns(const Tile& t, std::int64_t begin, std::int64_t depth, std::uint16_t* to) {
  const std::int64_t steps = steps_of(depth), columns = ceiling(t.n, columns_at_once) * columns_at_once;
  const auto* w = static_cast<const std::uint16_t*>(t.w) + begin * t.col_stride;
  if (columns != t.n || depth % step != 0)
    std::fill_n(to, static_cast<std::size_t>(columns * steps * step), std::uint16_t{0});
  const std::int64_t pairs = depth / 2;
  if (t.col_stride == 1) {
    for (std::int64_t j = 0; j < t.n; ++j) {
      std::uint16_t* column = to + j / block * steps * piece + j % block * 2;
      const std::uint16_t* from = w + j * t.row_stride;
      for (std::int64_t p = 0; p < pairs; ++p) std::memcpy(column + p * step, from + 2 * p, 4);
      if (depth % 2 != 0) column[pairs * step] = from[depth - 1];
    }
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    const std::uint16_t* from = w + p * t.col_stride;
    for (std::int64_t j = 0; j < t.n; j += block) {
      std::uint16_t* columns_of = to + j / block * steps * piece + p / 2 * step + p % 2;
      const std::int64_t count = std::min(block, t.n - j);
      for (std::int64_t c = 0; c < count; ++c) columns_of[2 * c] = from[j + c];
    }
  }
}

}  // namespace
HWY_POP_ATTRIBUTES

// --- Products.

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
namespace {

// 16 columns of results, those that there are.
inline void put(float* out, __mmask16 columns, __m512 sums, bool add) {
  if (add) sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(columns, out));
  _mm512_mask_storeu_ps(out, columns, sums);
}

inline __mmask16 columns_left(std::int64_t count) {
  return count >= block ? __mmask16{0xffff} : count <= 0 ? __mmask16{0} : static_cast<__mmask16>((1U << count) - 1);
}

// 8 rows by `vectors` blocks of columns.
template <int vectors>
inline void eight_rows(const std::uint16_t* x, const std::uint16_t* w, std::int64_t steps, const Tile& t,
                       std::int64_t i, std::int64_t j, bool add) {
  constexpr int rows = 8;
  __m512 sums[rows][vectors];
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_setzero_ps();
  for (std::int64_t s = 0; s < steps; ++s)
    for (std::int64_t p = 0; p < step / 2; ++p) {
      __m512bh weights[vectors];
      for (int v = 0; v < vectors; ++v)
        weights[v] = (__m512bh)_mm512_loadu_si512(w + (v * steps + s) * piece + p * step);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, x + s * piece + r * step + 2 * p, 4);
        const auto element = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], element, weights[v]);
      }
    }
  for (int r = 0; r < rows && i + r < t.m; ++r)
    for (int v = 0; v < vectors; ++v)
      put(t.out + (i + r) * t.out_stride + j + v * block, columns_left(t.n - j - v * block), sums[r][v], add);
}

void multiply_avx512(const std::uint16_t* x, const std::uint16_t* w, std::int64_t steps, const Tile& t, bool add) {
  for (std::int64_t j = 0; j < t.n;) {
    const bool three = t.n - j > 2 * block;
    const std::uint16_t* columns = w + j / block * steps * piece;
    for (std::int64_t i = 0; i < t.m; i += 8) {
      const std::uint16_t* rows = x + i / block * steps * piece + i % block * step;
      three ? eight_rows<3>(rows, columns, steps, t, i, j, add) : eight_rows<1>(rows, columns, steps, t, i, j, add);
    }
    j += three ? 3 * block : block;
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
  const int parts = amx ? amx_parts : 1;
  const std::int64_t rows = ceiling(t.m, rows_at_once) * rows_at_once;
  auto* x = reinterpret_cast<std::uint16_t*>(scratch);
  for (std::int64_t begin = 0; begin < t.k; begin += depth_at_once) {
    const std::int64_t depth = std::min(depth_at_once, t.k - begin), steps = steps_of(depth);
    std::uint16_t* w = x + rows * steps * step * parts;
    amx ? pack_rows<amx_parts>(t, begin, depth, x) : pack_rows<1>(t, begin, depth, x);
    pack_columns(t, begin, depth, w);
    (amx ? multiply_amx : multiply_avx512)(x, w, steps, t, begin > 0);
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
