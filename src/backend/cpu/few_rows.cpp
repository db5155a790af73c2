// Products with few rows of x: every weight is read once, in its stored type, and used for all rows.
#include <algorithm>
#include <type_traits>

#include "backend/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/few_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// Rows of x that are multiplied at once.
constexpr int most_rows = vector_registers / 4;

// Memory is asked for so far ahead of its use: the hardware follows each stream, but stops at the end of a page.
constexpr int bytes_ahead = 1024;

// --- K runs on: one dot product per element, `rows` of x by `streams` rows of W at once, which are `apart` rows apart.

template <int rows, int streams, class T>
HWY_INLINE void dots(const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride, std::int64_t k,
                     float* out, std::int64_t out_stride, std::int64_t apart) {
  const Floats d;
  const OneFloat one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sums[rows][streams];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < streams; ++j) sums[i][j] = hn::Zero(d);
  }
  std::int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    hn::Vec<Floats> weights[streams];
    HWY_UNROLL(8)
    for (int j = 0; j < streams; ++j) {
      hwy::Prefetch(w + j * w_stride + p + bytes_ahead / static_cast<int>(sizeof(T)));
      weights[j] = load(d, w + j * w_stride + p);
    }
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto element = kept(hn::LoadU(d, x + i * x_stride + p));
      HWY_UNROLL(8)
      for (int j = 0; j < streams; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  }
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

template <int rows, class T>
void dot_tile(const Tile& t, const float* x, float* out) {
  // Each stream reads rows that follow each other: memory is fastest when long stretches of it are read side by side.
  constexpr int streams = rows == 1 ? 8 : rows <= most_rows / 2 ? 4 : 3;
  const T* w = static_cast<const T*>(t.w);
  const std::int64_t apart = t.n / streams;
  for (std::int64_t j = 0; j < apart; ++j)
    dots<rows, streams>(x, t.x_stride, w + j * t.row_stride, apart * t.row_stride, t.k, out + j, t.out_stride, apart);
  for (std::int64_t j = apart * streams; j < t.n; ++j)
    dots<rows, 1>(x, t.x_stride, w + j * t.row_stride, t.row_stride, t.k, out + j, t.out_stride, 1);
}

// --- N runs on: `depth` rows of W are streamed side by side, each times one element of every row of x, and added to
// sums that stay in the nearest cache.

template <int rows, int depth, class D, class T>
HWY_INLINE std::int64_t add_rows(D d, const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride,
                                 std::int64_t ahead, std::int64_t j, std::int64_t n, float* out,
                                 std::int64_t out_stride, bool first) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; j + lanes <= n; j += lanes) {
    hn::Vec<D> weights[depth];
    HWY_UNROLL(8)
    for (int q = 0; q < depth; ++q) {
      hwy::Prefetch(w + q * w_stride + j + ahead);
      weights[q] = kept(load(d, w + q * w_stride + j));
    }
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      float* to = out + i * out_stride + j;
      auto sum = first ? hn::Zero(d) : hn::LoadU(d, to);
      HWY_UNROLL(8)
      for (int q = 0; q < depth; ++q) sum = hn::MulAdd(hn::Set(d, x[i * x_stride + q]), weights[q], sum);
      hn::StoreU(sum, d, to);
    }
  }
  return j;
}

template <int rows, int depth, class T>
HWY_INLINE void add_piece(const Tile& t, const float* x, const T* w, std::int64_t begin, std::int64_t end, float* out,
                          bool first) {
  // The same place in the rows that come next, unless they are too far away to stay in the cache.
  constexpr std::int64_t longest = 32 * 1024 / sizeof(T);
  const std::int64_t ahead = t.n < longest ? depth * t.col_stride : bytes_ahead / static_cast<int>(sizeof(T));
  const std::int64_t j =
      add_rows<rows, depth>(Floats(), x, t.x_stride, w, t.col_stride, ahead, begin, end, out, t.out_stride, first);
  add_rows<rows, depth>(OneFloat(), x, t.x_stride, w, t.col_stride, ahead, j, end, out, t.out_stride, first);
}

template <int rows, class T>
HWY_INLINE void stream_rows(const Tile& t, const float* x, float* out) {
  constexpr int depth = vector_registers / 4;
  constexpr std::int64_t piece = 4096 / rows;  // 16 KiB of sums
  const T* w = static_cast<const T*>(t.w);
  for (std::int64_t j = 0; j < t.n; j += piece) {
    const std::int64_t end = std::min(t.n, j + piece);
    std::int64_t p = 0;
    for (; p + depth <= t.k; p += depth) add_piece<rows, depth>(t, x + p, w + p * t.col_stride, j, end, out, p == 0);
    for (; p < t.k; ++p) add_piece<rows, 1>(t, x + p, w + p * t.col_stride, j, end, out, p == 0);
  }
}

// With more rows of x the arithmetic counts too: sums of `width` vectors by all rows stay in registers for `depth` rows
// of W, while the next ones are fetched into the cache. The order of each sum is that of stream_rows.
template <int rows, int width, class D, class T>
HWY_INLINE void block_of_rows(D d, const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride,
                              std::int64_t depth, std::int64_t ahead, float* out, std::int64_t out_stride, bool first) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[rows][width];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < width; ++j) sums[i][j] = first ? hn::Zero(d) : hn::LoadU(d, out + i * out_stride + j * lanes);
  }
  for (std::int64_t p = 0; p < depth; ++p, w += w_stride) {
    hn::Vec<D> weights[width];
    HWY_UNROLL(8)
    for (int j = 0; j < width; ++j) {
      hwy::Prefetch(w + ahead * w_stride + j * lanes);
      weights[j] = kept(load(d, w + j * lanes));
    }
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto element = kept(hn::Set(d, x[i * x_stride + p]));
      HWY_UNROLL(8)
      for (int j = 0; j < width; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < width; ++j) hn::StoreU(sums[i][j], d, out + i * out_stride + j * lanes);
  }
}

template <int rows, class T>
HWY_INLINE void block_rows(const Tile& t, const float* x, float* out) {
  constexpr int width = 3;
  constexpr std::int64_t most_depth = 16;
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t p = 0; p < t.k; p += most_depth) {
    const std::int64_t depth = std::min(most_depth, t.k - p);
    const T* w = static_cast<const T*>(t.w) + p * t.col_stride;
    const auto block = [&](auto lanes_tag, auto vectors, std::int64_t j) HWY_ATTR {
      block_of_rows<rows, vectors.value>(lanes_tag, x + p, t.x_stride, w + j, t.col_stride, depth, most_depth, out + j,
                                         t.out_stride, p == 0);
    };
    std::int64_t j = 0;
    for (; j + width * lanes <= t.n; j += width * lanes) block(d, std::integral_constant<int, width>(), j);
    for (; j + lanes <= t.n; j += lanes) block(d, std::integral_constant<int, 1>(), j);
    for (; j < t.n; ++j) block(OneFloat(), std::integral_constant<int, 1>(), j);
  }
}

template <int rows, class T>
void row_tile(const Tile& t, const float* x, float* out) {
  if constexpr (rows <= 2)
    stream_rows<rows, T>(t, x, out);
  else
    block_rows<rows, T>(t, x, out);
}

template <int rows, class T>
void tile_of(const Tile& t, std::int64_t first) {
  const float* x = t.x + first * t.x_stride;
  float* out = t.out + first * t.out_stride;
  if (t.col_stride == 1)
    dot_tile<rows, T>(t, x, out);
  else
    row_tile<rows, T>(t, x, out);
}

template <class T, int rows = most_rows>
void tile_with(const Tile& t, std::int64_t first, std::int64_t count) {
  if constexpr (rows > 0) {
    if (count == rows) return tile_of<rows, T>(t, first);
    tile_with<T, rows - 1>(t, first, count);
  }
}

template <class T>
void tile_typed(const Tile& t) {
  for (std::int64_t first = 0; first < t.m; first += most_rows)
    tile_with<T>(t, first, std::min<std::int64_t>(most_rows, t.m - first));
}

void few(const Tile& tile) {
  if (tile.dtype == DType::float32) return tile_typed<float>(tile);
  if (tile.dtype == DType::bfloat16) return tile_typed<hwy::bfloat16_t>(tile);
  return tile_typed<hwy::float16_t>(tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(few);

void few_rows_tile(const Tile& tile) { HWY_DYNAMIC_DISPATCH(few)(tile); }

}  // namespace reckon
#endif
