// Products with few rows of x: every weight is read once, in its stored type, and used for all rows.
#include <algorithm>

#include "backend/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/few_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/few_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// Rows of x that are multiplied at once.
constexpr int most_rows = vector_registers / 4;

constexpr int bytes_ahead = 1024;  // as in few_rows-inl.h

// --- K runs on: how it is read is in few_rows-inl.h.

template <int rows, class T>
void dot_tile(const Tile& t, const float* x, float* out) {
  const auto read = [&]<Cores those>() HWY_ATTR {
    constexpr Reading how = reading<T>(rows, those);
    dots_of_rows<rows, how>(t, static_cast<const T*>(t.w), x, out);
  };
  switch (cores()) {
    case Cores::others:
      read.template operator()<Cores::others>();
      break;
    case Cores::amd:
      read.template operator()<Cores::amd>();
      break;
    case Cores::zen5:
      read.template operator()<Cores::zen5>();
      break;
  }
  count_products(rows * t.n * t.k);
}

// --- N runs on: rows of W are streamed side by side, `depth` at a time, each times one element of every row of x.

constexpr int depth = vector_registers / 4;

// Whether rows of W are read one after the other; cores() and with it this stay as they are.
bool sequential() { return sequential_on_amd && cores() != Cores::others; }

// Which rows of W are read together, row q of group g being g·next + q·apart: those of float32 next to each other,
// those of 16 bits as far apart as the tile lets them, unless rows are read one after the other; so each was measured
// to be faster. All kernels below follow it, so that the order of a sum is the same for any number of rows of x.
template <class T>
struct Order {
  explicit Order(std::int64_t k)
      : far(sizeof(T) < sizeof(float) && !sequential()),
        groups(k / depth),
        apart(far ? groups : 1),
        next(far ? 1 : depth) {}
  bool far;
  std::int64_t groups, apart, next;
};

// Few rows of x: the sums stay in the nearest cache, and `vectors` of them are added to at a time: as much of W as a
// line of the cache holds, so that each is asked for once. The streams begin at x and w. `ahead` 0: nothing is asked
// for.
template <int rows, int streams, int vectors, class D, class T>
HWY_INLINE std::int64_t add_rows(D d, const Tile& t, const float* x, const T* w, std::int64_t apart, std::int64_t ahead,
                                 std::int64_t j, std::int64_t n, float* out, bool first) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; j + vectors * lanes <= n; j += vectors * lanes) {
    hn::Vec<D> weights[vectors][streams];
    HWY_UNROLL(8)
    for (int q = 0; q < streams; ++q) {
      const T* from = w + q * apart * t.col_stride + j;
      if (ahead != 0) hwy::Prefetch(from + ahead);
      HWY_UNROLL(2)
      for (int v = 0; v < vectors; ++v) weights[v][q] = kept(load(d, from + v * lanes));
    }
    HWY_UNROLL(2)
    for (int i = 0; i < rows; ++i) {
      HWY_UNROLL(2)
      for (int v = 0; v < vectors; ++v) {
        float* to = out + i * t.out_stride + j + v * lanes;
        auto sum = first ? hn::Zero(d) : hn::LoadU(d, to);
        HWY_UNROLL(8)
        for (int q = 0; q < streams; ++q)
          sum = hn::MulAdd(hn::Set(d, x[i * t.x_stride + q * apart]), weights[v][q], sum);
        hn::StoreU(sum, d, to);
      }
    }
  }
  return j;
}

template <int rows, int streams, class T>
HWY_INLINE void add_piece(const Tile& t, const float* x, const T* w, std::int64_t apart, std::int64_t ahead,
                          std::int64_t j, std::int64_t end, float* out, bool first) {
  constexpr int vectors = HWY_MAX_BYTES / sizeof(float) * sizeof(T) < 64 ? 2 : 1;
  j = add_rows<rows, streams, vectors>(Floats(), t, x, w, apart, ahead, j, end, out, first);
  if constexpr (vectors > 1) j = add_rows<rows, streams, 1>(Floats(), t, x, w, apart, ahead, j, end, out, first);
  add_rows<rows, streams, 1>(OneFloat(), t, x, w, apart, ahead, j, end, out, first);
}

template <int rows, class T>
HWY_INLINE void stream_rows(const Tile& t, const float* x, float* out) {
  constexpr std::int64_t piece = 4096 / rows;  // 16 KiB of sums
  const T* w = static_cast<const T*>(t.w);
  const Order<T> order(t.k);
  // The same place in the rows that come next, unless they are too far away to stay in the cache.
  constexpr std::int64_t longest = 32 * 1024 / sizeof(T);
  const std::int64_t ahead = t.n < longest ? order.next * t.col_stride : bytes_ahead / static_cast<int>(sizeof(T));
  // Sums that are read and written again for every row of W are waited for where they are few.
  const bool one_by_one = sequential() && t.n >= 256;
  const std::int64_t row_bytes = t.n * std::int64_t{sizeof(T)},
                     rows_ahead = (ahead_alone(cores()) + row_bytes - 1) / row_bytes;
  for (std::int64_t j = 0; j < t.n; j += piece) {
    const std::int64_t end = std::min(t.n, j + piece);
    std::int64_t deep = 0;  // rows of W that were added
    for (std::int64_t g = 0; g < order.groups && !one_by_one; ++g, deep += depth) {
      const std::int64_t p = g * order.next;
      add_piece<rows, depth>(t, x + p, w + p * t.col_stride, order.apart, ahead, j, end, out, g == 0);
    }
    for (std::int64_t p = deep; p < t.k; ++p, ++deep)
      add_piece<rows, 1>(t, x + p, w + p * t.col_stride, 1, (one_by_one ? rows_ahead : 1) * t.col_stride, j, end, out,
                         p == 0);
    count_products(rows * (end - j) * deep);
  }
}

// With more rows of x the arithmetic counts too: sums of `width` vectors by all rows stay in registers for several rows
// of W, while the next ones are fetched into the cache.
template <int rows, int width, int streams, class D, class T>
HWY_INLINE void block_of_rows(D d, const Tile& t, const float* x, const T* w, std::int64_t groups, std::int64_t next,
                              std::int64_t apart, float* out, bool first) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[rows][width];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < width; ++j) sums[i][j] = first ? hn::Zero(d) : hn::LoadU(d, out + i * t.out_stride + j * lanes);
  }
  const std::int64_t ahead = groups * next * t.col_stride;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (int q = 0; q < streams; ++q) {
      const std::int64_t p = g * next + q * apart;
      const T* from = w + p * t.col_stride;
      hn::Vec<D> weights[width];
      HWY_UNROLL(8)
      for (int j = 0; j < width; ++j) {
        hwy::Prefetch(from + ahead + j * lanes);
        weights[j] = kept(load(d, from + j * lanes));
      }
      HWY_UNROLL(8)
      for (int i = 0; i < rows; ++i) {
        const auto element = kept(hn::Set(d, x[i * t.x_stride + p]));
        HWY_UNROLL(8)
        for (int j = 0; j < width; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(8)
    for (int j = 0; j < width; ++j) hn::StoreU(sums[i][j], d, out + i * t.out_stride + j * lanes);
  }
}

// The streams of so many groups, for all columns.
template <int rows, int streams, class T>
HWY_INLINE void blocks_of_rows(const Tile& t, const float* x, const T* w, std::int64_t groups, std::int64_t next,
                               std::int64_t apart, float* out, bool first) {
  constexpr int width = 3;
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + width * lanes <= t.n; j += width * lanes)
    block_of_rows<rows, width, streams>(d, t, x, w + j, groups, next, apart, out + j, first);
  for (; j + lanes <= t.n; j += lanes)
    block_of_rows<rows, 1, streams>(d, t, x, w + j, groups, next, apart, out + j, first);
  for (; j < t.n; ++j) block_of_rows<rows, 1, streams>(OneFloat(), t, x, w + j, groups, next, apart, out + j, first);
  count_products(rows * j * groups * streams);
}

template <int rows, class T>
HWY_INLINE void block_rows(const Tile& t, const float* x, float* out) {
  constexpr std::int64_t at_once = 16 / depth;
  const T* w = static_cast<const T*>(t.w);
  const Order<T> order(t.k);
  for (std::int64_t g = 0; g < order.groups; g += at_once) {
    const std::int64_t p = g * order.next;
    blocks_of_rows<rows, depth>(t, x + p, w + p * t.col_stride, std::min(at_once, order.groups - g), order.next,
                                order.apart, out, g == 0);
  }
  if (const std::int64_t p = order.groups * depth; p < t.k)
    blocks_of_rows<rows, 1>(t, x + p, w + p * t.col_stride, t.k - p, 1, 0, out, p == 0);
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

// In WebAssembly what is left behind whole blocks goes row by row: that is less to fetch.
constexpr int fewer(int rows) { return HWY_TARGET == HWY_WASM && rows > 1 ? 1 : rows - 1; }

template <class T, int rows = most_rows>
void tile_with(const Tile& t, std::int64_t first, std::int64_t count) {
  if constexpr (rows > 0) {
    for (; count >= rows; first += rows, count -= rows) tile_of<rows, T>(t, first);
    if (count > 0) tile_with<T, fewer(rows)>(t, first, count);
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
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace reckon {

HWY_EXPORT(few);

#if HWY_ARCH_X86
Cores cores() {
  static const Cores found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != 0x68747541) return Cores::others;  // "Auth" of AuthenticAMD
    const unsigned family = __get_cpuid(1, &a, &b, &c, &d) ? (a >> 8 & 0xf) + (a >> 20 & 0xff) : 0;
    return family >= 0x1a ? Cores::zen5 : Cores::amd;
  }();
  return found;
}
#endif

void few_rows_tile(const Tile& tile) { HWY_DYNAMIC_DISPATCH(few)(tile); }

}  // namespace reckon
#endif
