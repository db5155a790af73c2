// Panels of quantised weights (quantised-inl.h) by AMX: registers of 16 rows of 64 bytes, of which one instruction
// multiplies 16 rows of x by 16 columns, as many elements of K deep as have one scale.
#include <algorithm>
#include <cstring>

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

// Registers 0 and 1 are sums, 2 and 3 rows of x, 4 and 5 columns of W.
template <int unit>
struct alignas(64) Shapes {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, unit, unit, 64, 64};
  std::uint8_t rows[16] = {block, block, block, block, unit / 4, unit / 4};
};

// out (`rows` of 16, × 16) += x·panel. Sums of integers leave AMX through memory: those of a unit are multiplied by
// their scales while the next ones are made.
template <int unit, bool has_offset>
void multiply(const AmxPanel& panel, const AmxRows& x, std::int64_t rows, float* out, std::int64_t out_stride) {
  constexpr std::int64_t line = 64, lines = unit / 4, bytes = (lines + 2) * line;
  alignas(64) std::int32_t sums[2][block * block];
  __m512 all[block];
#pragma GCC unroll 16
  for (int i = 0; i < block; ++i) all[i] = i < rows ? _mm512_loadu_ps(out + i * out_stride) : _mm512_setzero_ps();
  const auto make_even = [&](std::int64_t u) HWY_ATTR {
    _tile_zero(0);
    _tile_loadd(2, x.q + u * unit, x.bytes);
    _tile_loadd(4, panel.units + u * bytes, line);
    _tile_dpbssd(0, 2, 4);
    _tile_stored(0, sums[0], line);
  };
  const auto make_odd = [&](std::int64_t u) HWY_ATTR {
    _tile_zero(1);
    _tile_loadd(3, x.q + u * unit, x.bytes);
    _tile_loadd(5, panel.units + u * bytes, line);
    _tile_dpbssd(1, 3, 5);
    _tile_stored(1, sums[1], line);
  };
  const auto take = [&](std::int64_t u, const std::int32_t* from) HWY_ATTR {
    const auto* scales = reinterpret_cast<const float*>(panel.units + u * bytes + lines * line);
    const __m512 scale = _mm512_loadu_ps(scales);
    [[maybe_unused]] const __m512 offset = has_offset ? _mm512_loadu_ps(scales + block) : _mm512_setzero_ps();
    const char *x_scale = x.scale + u * unit / 32 * 4, *x_sum = x.sums + u * 4;
#pragma GCC unroll 16
    for (int i = 0; i < block; ++i) {
      float by, sum = 0;
      std::memcpy(&by, x_scale + i * x.bytes, 4);
      const __m512 codes = floats_of(_mm512_load_si512(from + i * block));
      all[i] = _mm512_fmadd_ps(_mm512_mul_ps(codes, _mm512_set1_ps(by)), scale, all[i]);
      if constexpr (has_offset) {
        std::memcpy(&sum, x_sum + i * x.sums_bytes, 4);
        all[i] = _mm512_fmadd_ps(_mm512_set1_ps(sum), offset, all[i]);
      }
    }
  };
  make_even(0);
  for (std::int64_t u = 1; u < panel.count; u += 2) {
    make_odd(u);
    take(u - 1, sums[0]);
    if (u + 1 < panel.count) make_even(u + 1);
    take(u, sums[1]);
  }
  if (panel.count % 2 != 0) take(panel.count - 1, sums[0]);
#pragma GCC unroll 16
  for (int i = 0; i < block; ++i)
    if (i < rows) _mm512_storeu_ps(out + i * out_stride, all[i]);
}

template <int unit, bool has_offset>
void multiply_panels(const AmxPanel& panel, int panels, const AmxRows& x, float* out, std::int64_t out_stride) {
  const Shapes<unit> shapes;
  _tile_loadconfig(&shapes);
  for (std::int64_t i = 0; i < x.rows; i += block) {
    AmxRows some = x;
    some.q += i * x.bytes;
    some.scale += i * x.bytes;
    some.sums += i * x.sums_bytes;
    // Behind the last row may be the end of memory: the rest of its block reads that row again.
    alignas(64) char copy[block * amx_row_bytes];
    alignas(64) char sums[block * amx_depth / 16 * 4];
    const std::int64_t rows = std::min<std::int64_t>(block, x.rows - i);
    if (rows < block) {
      const std::int64_t q_bytes = panel.count * unit, scale_bytes = q_bytes / 32 * 4, sum_bytes = panel.count * 4;
      for (std::int64_t r = 0; r < block; ++r) {
        const std::int64_t from = std::min(r, rows - 1);
        std::memcpy(copy + r * amx_row_bytes, some.q + from * x.bytes, static_cast<std::size_t>(q_bytes));
        std::memcpy(copy + r * amx_row_bytes + amx_depth, some.scale + from * x.bytes,
                    static_cast<std::size_t>(scale_bytes));
        if (has_offset)
          std::memcpy(sums + r * sum_bytes, some.sums + from * x.sums_bytes, static_cast<std::size_t>(sum_bytes));
      }
      some.q = copy;
      some.scale = copy + amx_depth;
      some.bytes = amx_row_bytes;
      if (has_offset) some.sums = sums, some.sums_bytes = sum_bytes;
    }
    for (int v = 0; v < panels; ++v)
      multiply<unit, has_offset>({panel.units + v * panel.apart, panel.apart, panel.count}, some, rows,
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
