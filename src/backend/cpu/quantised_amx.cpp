// Panels of quantised weights (quantised-inl.h) by AMX: registers of 16 rows of 64 bytes, of which one instruction
// multiplies 16 rows of x by 16 columns, as many elements of K deep as have one scale.
#include <algorithm>
#include <cstring>

#include "backend/cpu/amx.h"
#include "backend/cpu/quantised.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86_64
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-int8")
namespace reckon {
namespace {

constexpr int block = 16;  // rows, and columns

inline __m512 floats_of(__m512i v) {  // (g++ 12 warns wrongly about _mm512_cvtepi32_ps: GCC bug 105593)
  return _mm512_maskz_cvtepi32_ps(0xffff, v);
}

// Registers 0 to 3 are sums, 4 and 5 rows of x, 6 and 7 columns of W.
template <int unit>
constexpr AmxShapes shapes{.bytes = {64, 64, 64, 64, unit, unit, 64, 64},
                           .rows = {block, block, block, block, block, block, unit / 4, unit / 4}};

// Of 16 rows of x what its units are multiplied by: scales, and dx·Σ q, for all rows side by side.
struct Factors {
  alignas(64) float scale[amx_depth / 32][block], sum[amx_depth / 16][block];
};

// What the sums of a unit add: a line of scales and one of offsets lie behind its codes.
template <bool has_offset>
HWY_INLINE void take(const std::int32_t* sums, const std::uint8_t* behind, const float* x_scale, const float* x_sum,
                     __m512 (&all)[block]) {
  const __m512 scale = _mm512_loadu_ps(behind);
  [[maybe_unused]] const __m512 offset = has_offset ? _mm512_loadu_ps(behind + 64) : _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int i = 0; i < block; ++i) {
    const __m512 codes = floats_of(_mm512_load_si512(sums + i * block));
    all[i] = _mm512_fmadd_ps(_mm512_mul_ps(codes, _mm512_set1_ps(x_scale[i])), scale, all[i]);
    if constexpr (has_offset) all[i] = _mm512_fmadd_ps(_mm512_set1_ps(x_sum[i]), offset, all[i]);
  }
}

// out (`rows` of 16, × 16) += x·panel. Sums of integers leave AMX through memory, which takes long: those of a unit are
// multiplied by their scales while those of the next are stored and those of two more are made.
template <int unit, bool has_offset>
void multiply(const AmxPanel& panel, const char* q, std::int64_t x_bytes, const Factors& x, std::int64_t rows,
              float* out, std::int64_t out_stride) {
  constexpr std::int64_t line = 64, lines = unit / 4, bytes = (lines + 2) * line;
  const std::int64_t count = panel.count;
  const std::uint8_t* codes = panel.units;
  alignas(64) std::int32_t sums[2][block * block];
  __m512 all[block];
#pragma GCC unroll 16
  for (int i = 0; i < block; ++i) all[i] = i < rows ? _mm512_loadu_ps(out + i * out_stride) : _mm512_setzero_ps();
// The numbers of registers are part of the instructions' names.
#define RECKON_MAKE(u, c, a, b)              \
  if ((u) < count) {                         \
    _tile_zero(c);                           \
    _tile_loadd(a, q + (u)*unit, x_bytes);   \
    _tile_loadd(b, codes + (u)*bytes, line); \
    _tile_dpbssd(c, a, b);                   \
  }
#define RECKON_STORE(u, c) \
  if ((u) < count) _tile_stored(c, sums[(c) % 2], line);
#define RECKON_TAKE(u, c)                                                                                   \
  take<has_offset>(sums[(c) % 2], codes + (u)*bytes + lines * line, x.scale[(u)*unit / 32], x.sum[u], all); \
  if ((u) + 1 == count) break;
  RECKON_MAKE(0, 0, 4, 6)
  RECKON_MAKE(1, 1, 5, 7)
  RECKON_MAKE(2, 2, 4, 6)
  RECKON_STORE(0, 0)
  for (std::int64_t u = 0; u < count; u += 4) {
    RECKON_MAKE(u + 3, 3, 5, 7)
    RECKON_STORE(u + 1, 1)
    RECKON_TAKE(u, 0)
    RECKON_MAKE(u + 4, 0, 4, 6)
    RECKON_STORE(u + 2, 2)
    RECKON_TAKE(u + 1, 1)
    RECKON_MAKE(u + 5, 1, 5, 7)
    RECKON_STORE(u + 3, 3)
    RECKON_TAKE(u + 2, 2)
    RECKON_MAKE(u + 6, 2, 4, 6)
    RECKON_STORE(u + 4, 0)
    RECKON_TAKE(u + 3, 3)
  }
#undef RECKON_STORE
#undef RECKON_MAKE
#undef RECKON_TAKE
#pragma GCC unroll 16
  for (int i = 0; i < block; ++i)
    if (i < rows) _mm512_storeu_ps(out + i * out_stride, all[i]);
}

template <int unit, bool has_offset>
void multiply_panels(const AmxPanel& panel, int panels, const AmxRows& x, float* out, std::int64_t out_stride) {
  _tile_loadconfig(&shapes<unit>);
  const std::int64_t depth = panel.count * unit;
  Factors factors;
  alignas(64) char copy[block * amx_depth];
  for (std::int64_t i = 0; i < x.rows; i += block) {
    const std::int64_t rows = std::min<std::int64_t>(block, x.rows - i);
    const char* q = x.q + i * x.bytes;
    std::int64_t bytes = x.bytes;
    for (std::int64_t r = 0; r < block; ++r) {  // behind the last row it is read again: there may be no memory
      const std::int64_t from = i + std::min(r, rows - 1);
      for (std::int64_t u = 0; u < depth / 32; ++u)
        std::memcpy(&factors.scale[u][r], x.scale + from * x.bytes + u * 4, 4);
      if (has_offset)
        for (std::int64_t u = 0; u < panel.count; ++u)
          std::memcpy(&factors.sum[u][r], x.sums + from * x.sums_bytes + u * 4, 4);
      if (rows < block) std::memcpy(copy + r * amx_depth, x.q + from * x.bytes, static_cast<std::size_t>(depth));
    }
    if (rows < block) q = copy, bytes = amx_depth;
    for (int v = 0; v < panels; ++v)
      multiply<unit, has_offset>({panel.units + v * panel.apart, panel.apart, panel.count}, q, bytes, factors, rows,
                                 out + i * out_stride + v * block, out_stride);
  }
  _tile_release();
}

}  // namespace

void amx_panels(int unit, bool has_offset, const AmxPanel& panel, int panels, const AmxRows& x, float* out,
                std::int64_t out_stride) {
  (unit == 16   ? has_offset ? multiply_panels<16, true> : multiply_panels<16, false>
     : has_offset ? multiply_panels<32, true>
                : multiply_panels<32, false>)(panel, panels, x, out, out_stride);
}

void make_signed(int unit, int shift, const AmxPanel& panel) {
  const std::int64_t lines = unit / 4;
  const __m512i by = _mm512_set1_epi8(static_cast<char>(shift));
  for (std::int64_t u = 0; u < panel.count; ++u)
    for (std::int64_t q = 0; q < lines; ++q) {
      std::uint8_t* codes = panel.units + (u * (lines + 2) + q) * 64;
      _mm512_storeu_si512(codes, _mm512_add_epi8(_mm512_loadu_si512(codes), by));
    }
}

}  // namespace reckon
HWY_POP_ATTRIBUTES

#else

namespace reckon {
void amx_panels(int, bool, const AmxPanel&, int, const AmxRows&, float*, std::int64_t) {}
void make_signed(int, int, const AmxPanel&) {}
}  // namespace reckon

#endif
