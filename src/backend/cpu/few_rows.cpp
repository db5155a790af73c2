// Products with few rows of x: every weight is read once, in its stored type, and used for all rows.
#include <algorithm>

#include "backend/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/few_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// Rows of x that are multiplied at once, and the sums kept in registers for them.
constexpr int most_rows = vector_registers / 4;
constexpr int most_sums = most_rows * 3;

// How far ahead of its use memory is asked for. Where K runs on, the hardware follows each stream but stops at the end
// of a page; where N runs on, each row piece lies in a page of its own and it cannot know the next.
constexpr int bytes_ahead = 1024;
constexpr int pieces_ahead = 16;

// --- K runs on: one dot product per element, `rows` of x by `streams` rows of W at once, which are `apart` rows apart.

template <int rows, int streams, class T>
HWY_INLINE void dots(const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride, std::int64_t k,
                     float* out, std::int64_t out_stride, std::int64_t apart) {
  const Floats d;
  const OneFloat one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sums[rows][streams];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i)
    HWY_UNROLL(8)
    for (int j = 0; j < streams; ++j) sums[i][j] = hn::Zero(d);
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
      auto element = hn::LoadU(d, x + i * x_stride + p);
      keep(element);
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

// --- N runs on: the weights of one k are a row piece of `width` vectors, times one element of each row of x.

template <int rows, int width, class D, class T>
HWY_INLINE void sums_of_rows(D d, const float* x, std::int64_t x_stride, const T* w, std::int64_t w_stride,
                             std::int64_t k, float* out, std::int64_t out_stride) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[rows][width];
  HWY_UNROLL(16)
  for (int i = 0; i < rows; ++i)
    HWY_UNROLL(16)
    for (int j = 0; j < width; ++j) sums[i][j] = hn::Zero(d);
  for (std::int64_t p = 0; p < k; ++p, w += w_stride) {
    hn::Vec<D> weights[width];
    HWY_UNROLL(16)
    for (int j = 0; j < width; ++j) {
      hwy::Prefetch(w + pieces_ahead * w_stride + j * lanes);
      weights[j] = load(d, w + j * lanes);
    }
    HWY_UNROLL(16)
    for (int i = 0; i < rows; ++i) {
      const auto element = hn::Set(d, x[i * x_stride + p]);
      HWY_UNROLL(16)
      for (int j = 0; j < width; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < rows; ++i)
    HWY_UNROLL(16)
    for (int j = 0; j < width; ++j) hn::StoreU(sums[i][j], d, out + i * out_stride + j * lanes);
}

// Columns [j, t.n) in pieces of `width` vectors, then half of it, down to one; then one by one.
template <int rows, int width, class T>
HWY_INLINE void row_pieces(const Tile& t, const float* x, float* out, std::int64_t j) {
  const Floats d;
  const std::int64_t step = width * static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = static_cast<const T*>(t.w);
  for (; j + step <= t.n; j += step)
    sums_of_rows<rows, width>(d, x, t.x_stride, w + j, t.col_stride, t.k, out + j, t.out_stride);
  if constexpr (width > 1)
    row_pieces<rows, width / 2, T>(t, x, out, j);
  else
    for (; j < t.n; ++j)
      sums_of_rows<rows, 1>(OneFloat(), x, t.x_stride, w + j, t.col_stride, t.k, out + j, t.out_stride);
}

template <int rows, class T>
void row_tile(const Tile& t, const float* x, float* out) {
  constexpr int width = most_sums / rows < 8 ? most_sums / rows : 8;
  row_pieces<rows, width, T>(t, x, out, 0);
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
