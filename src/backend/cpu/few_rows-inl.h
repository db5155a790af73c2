// Dot products of few rows of x with rows of W in float32, bfloat16 or float16: memory is what they wait for, so how it
// is read are constants of the instruction set and the type. bench/candidates.cpp tries others.

#if defined(RECKON_FEW_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RECKON_FEW_ROWS_INL_H
#undef RECKON_FEW_ROWS_INL_H
#else
#define RECKON_FEW_ROWS_INL_H
#endif

#include "backend/cpu/simd-inl.h"
#include "backend/cpu/tile.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

struct Reading {
  int streams;  // rows of W that are read side by side
  int ahead;    // bytes that each is asked for before its use: the hardware follows, but stops at the end of a page
  bool far;     // the rows lie as far apart as the tile lets them; else they follow each other
};

// AMD's processors with AVX-512, from Zen 4 on: they read one row after the other best. Zen 4 asks for memory itself,
// Zen 5 is faster when asked to.
constexpr bool sequential_on_amd = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;
constexpr int ahead_alone(Cores cores) { return cores == Cores::zen5 ? 8192 : 0; }

// Of `rows` of x at once. Processors of AMD ask for memory better by themselves: measured on Zen 3, where one row of x
// then reads at 87 to 93% of the limit, with 1,024 bytes ahead at 68 to 76%. On Zen 4 four rows of W side by side reach
// 77 to 79%, one alone 87 to 97%; on Zen 5 one alone 82 to 89%, and 89 to 97% where it is asked for. Others are as
// measured on Intel's.
template <class T>
constexpr Reading reading(int rows, Cores cores) {
  const int streams = rows <= vector_registers / 8 ? 4 : 3;
  if (cores == Cores::others) return {rows == 1 ? 8 : streams, 1024, true};
  if (sequential_on_amd && rows == 1) return {1, ahead_alone(cores), false};
  return {streams, 0, true};
}

// One dot product per element, `rows` of x by `streams` rows of W at once, which are `apart` rows apart.
template <int rows, int streams, int ahead, class T>
HWY_INLINE void dots(const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride, std::int64_t k,
                     float* out, std::int64_t out_stride, std::int64_t apart) {
  const Floats d;
  const OneFloat one;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
#if HWY_TARGET == HWY_WASM  // which cannot ask for memory, so that longer steps would only be more code
  constexpr std::int64_t line = lanes;
#else
  constexpr std::int64_t line = 64 / std::int64_t{sizeof(T)} < lanes ? lanes : 64 / std::int64_t{sizeof(T)};
#endif
  hn::Vec<Floats> sums[rows][streams];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < streams; ++j) sums[i][j] = hn::Zero(d);
  }
  const auto step = [&](std::int64_t p) HWY_ATTR {
    hn::Vec<Floats> weights[streams];
    HWY_UNROLL(8)
    for (int j = 0; j < streams; ++j) weights[j] = load(d, w + j * w_stride + p);
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      auto element = hn::LoadU(d, x + i * x_stride + p);
      if constexpr (streams > 1) element = kept(element);  // used once, it is an operand in memory: less to decode
      HWY_UNROLL(8)
      for (int j = 0; j < streams; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  };
  std::int64_t p = 0;
  for (; p + line <= k; p += line) {  // as much as a line of the cache holds, so that each is asked for once
    if constexpr (ahead > 0) {
      HWY_UNROLL(8)
      for (int j = 0; j < streams; ++j) hwy::Prefetch(w + j * w_stride + p + ahead / static_cast<int>(sizeof(T)));
    }
    HWY_UNROLL(8)
    for (std::int64_t v = 0; v < line; v += lanes) step(p + v);
  }
  for (; p + lanes <= k; p += lanes) step(p);
  HWY_UNROLL(8)
  for (int j = 0; j < streams; ++j) {
    hn::Vec<Floats> column[rows];
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) column[i] = sums[i][j];
    HWY_ALIGN float whole[rows + hn::MaxLanes(d)];
    sums_of_lanes<rows>(d, column, whole);
    for (int i = 0; i < rows; ++i) {
      auto sum = hn::Set(one, whole[i]);
      for (std::int64_t q = p; q < k; ++q)
        sum = hn::MulAdd(hn::LoadU(one, x + i * x_stride + q), load(one, w + j * w_stride + q), sum);
      out[i * out_stride + j * apart] = hn::GetLane(sum);
    }
  }
}

// All of a tile's columns, for `rows` rows from x and out on.
template <int rows, Reading how, class T>
HWY_INLINE void dots_of_rows(const Tile& t, const T* w, const float* x, float* out) {
  constexpr int streams = how.streams;
  const std::int64_t groups = t.n / streams, apart = how.far ? groups : 1, next = how.far ? 1 : streams;
  for (std::int64_t g = 0; g < groups; ++g)
    dots<rows, streams, how.ahead>(x, t.x_stride, w + g * next * t.row_stride, apart * t.row_stride, t.k,
                                   out + g * next, t.out_stride, apart);
  for (std::int64_t j = groups * streams; j < t.n; ++j)
    dots<rows, 1, how.ahead>(x, t.x_stride, w + j * t.row_stride, t.row_stride, t.k, out + j, t.out_stride, 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#endif  // RECKON_FEW_ROWS_INL_H
