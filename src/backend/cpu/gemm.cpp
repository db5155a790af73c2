// Our own tile of many rows: weights are packed into panels as wide as the registers' block, and each
// block of sums stays in registers while K runs.
#include <algorithm>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

constexpr int block_rows = vector_registers / 4;  // of x
// Vectors of W's rows, at most; at most 3·16 floats. WebAssembly multiplies and adds apart, which takes registers.
constexpr int block_width = HWY_TARGET == HWY_WASM ? 2 : 3;
// Of one call, below each other: elsewhere each block asks for memory before it begins, which WebAssembly cannot.
constexpr int blocks_at_once = HWY_TARGET == HWY_WASM ? 128 : 1;

// The panel of columns [j, j + columns) of y: element (p, c) at p·width + c; those beyond `columns` are zero.

template <int vectors, class T>
HWY_INLINE void copy_whole_pieces(const T* w, std::int64_t stride, std::int64_t depth, float* panel) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t p = 0; p < depth; ++p, w += stride, panel += vectors * lanes) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) {
      hwy::Prefetch(w + 16 * stride + j * lanes);
      hn::StoreU(load(d, w + j * lanes), d, panel + j * lanes);
    }
  }
}

// N runs on: a piece of each row of W is copied. The pieces lie far apart, so the next ones are asked for beforehand.
template <class T>
HWY_INLINE void copy_pieces(const T* w, std::int64_t stride, std::int64_t depth, std::int64_t width,
                            std::int64_t columns, float* panel) {
  const Floats d;
  const OneFloat one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (columns == block_width * lanes) return copy_whole_pieces<block_width>(w, stride, depth, panel);
  for (std::int64_t p = 0; p < depth; ++p, w += stride, panel += width) {
    std::int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      hwy::Prefetch(w + 16 * stride + c);
      hn::StoreU(load(d, w + c), d, panel + c);
    }
    for (; c < columns; ++c) hn::StoreU(load(one, w + c), one, panel + c);
  }
}

// K runs on: four rows by four elements are transposed at a time.
template <class T>
HWY_INLINE void turn_rows(const T* w, std::int64_t stride, std::int64_t depth, std::int64_t width, std::int64_t columns,
                          float* panel) {
  std::int64_t c = 0, transposed = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<float> d;
  const hn::Full128<std::uint64_t> wide;
  transposed = depth / 4 * 4;
  for (; c + 4 <= columns; c += 4) {
    const T* row = w + c * stride;
    for (std::int64_t p = 0; p < transposed; p += 4) {
      const auto a = load(d, row + p), b = load(d, row + stride + p), e = load(d, row + 2 * stride + p),
                 f = load(d, row + 3 * stride + p);
      const auto ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b)),
                 AB = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
      const auto ef = hn::BitCast(wide, hn::InterleaveLower(d, e, f)),
                 EF = hn::BitCast(wide, hn::InterleaveUpper(d, e, f));
      float* to = panel + p * width + c;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab, ef)), d, to);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab, ef)), d, to + width);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, AB, EF)), d, to + 2 * width);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, AB, EF)), d, to + 3 * width);
    }
  }
#endif
  const OneFloat one;
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t p = k < c ? transposed : 0; p < depth; ++p)
      hn::StoreU(load(one, w + k * stride + p), one, panel + p * width + k);
}

template <class T>
HWY_INLINE void pack(const Tile& t, std::int64_t begin, std::int64_t depth, std::int64_t j, std::int64_t width,
                     float* panel) {
  const T* w = static_cast<const T*>(t.w) + begin * t.col_stride + j * t.row_stride;
  const std::int64_t columns = std::min(width, t.n - j);
  if (columns < width) std::fill(panel, panel + width * depth, 0.0f);
  if (t.col_stride == 1) return turn_rows(w, t.row_stride, depth, width, columns, panel);
  copy_pieces(w, t.col_stride, depth, width, columns, panel);
}

// out (rows × columns) = or += a block that is wider. A function of its own, as all of them end with it.
HWY_NOINLINE void copy_edge(const float* block, int rows, std::int64_t width, std::int64_t columns, float* out,
                            std::int64_t out_stride, bool add) {
  for (int i = 0; i < rows; ++i, block += width, out += out_stride)
    for (std::int64_t c = 0; c < columns; ++c) out[c] = add ? out[c] + block[c] : block[c];
}

// out (rows × columns) = or += x (rows × depth, or depth × rows where transposed) · panel.
template <int rows, int vectors, bool transposed>
HWY_INLINE void block(const float* x, std::int64_t x_stride, const float* panel, std::int64_t depth, float* out,
                      std::int64_t out_stride, std::int64_t columns, bool add) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sums[rows][vectors];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) sums[i][j] = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < depth; ++p, panel += vectors * lanes, x += transposed ? x_stride : 1) {
    hn::Vec<Floats> weights[vectors];
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) weights[j] = kept(hn::LoadU(d, panel + j * lanes));
    if constexpr (transposed) hwy::Prefetch(x + 16 * x_stride);  // each step is a line of its own, far from the last
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto element = kept(hn::Set(d, transposed ? x[i] : x[i * x_stride]));
      HWY_UNROLL(3)
      for (int j = 0; j < vectors; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  }
  if (columns < vectors * lanes) {
    HWY_ALIGN float edge[rows * vectors * hn::MaxLanes(d)];
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      HWY_UNROLL(3)
      for (int j = 0; j < vectors; ++j) hn::StoreU(sums[i][j], d, edge + (i * vectors + j) * lanes);
    }
    return copy_edge(edge, rows, vectors * lanes, columns, out, out_stride, add);
  }
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    float* row = out + i * out_stride;
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) {
      float* to = row + j * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[i][j]) : sums[i][j], d, to);
    }
  }
}

// So many blocks below each other. A function of its own: the compiler takes minutes for many of them in one.
template <int rows, int vectors, bool transposed>
HWY_NOINLINE void column(std::int64_t blocks, const float* x, std::int64_t x_stride, const float* panel,
                         std::int64_t depth, float* out, std::int64_t out_stride, std::int64_t columns, bool add) {
  if constexpr (rows < block_rows || blocks_at_once == 1) blocks = 1;
  for (; blocks > 0; --blocks, x += rows * (transposed ? 1 : x_stride), out += rows * out_stride)
    block<rows, vectors, transposed>(x, x_stride, panel, depth, out, out_stride, columns, add);
}

// In WebAssembly three rows are two and one, and a panel has both its vectors: that is less to fetch.
constexpr int fewer(int rows) { return HWY_TARGET == HWY_WASM ? rows / 2 : rows - 1; }
constexpr int least_width = HWY_TARGET == HWY_WASM ? block_width : 1;

// Of as many rows as next_rows() says.
template <int vectors, bool transposed, int rows = block_rows>
void column_of(std::int64_t count, const float* x, std::int64_t x_stride, const float* panel, std::int64_t depth,
               float* out, std::int64_t out_stride, std::int64_t columns, bool add) {
  if constexpr (rows > 0) {
    if (count >= rows)
      return column<rows, vectors, transposed>(count / rows, x, x_stride, panel, depth, out, out_stride, columns, add);
    column_of<vectors, transposed, fewer(rows)>(count, x, x_stride, panel, depth, out, out_stride, columns, add);
  }
}

// The lines of memory where rows [i, i + rows) of the results go: far apart, and slow to come.
HWY_INLINE void ask_ahead(const Tile& t, std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns) {
  constexpr std::int64_t line = 64 / sizeof(float);
  for (const Tile::Ahead& ahead : t.ahead) {
    if (ahead.data == nullptr) continue;
    for (std::int64_t r = i; r < i + rows; ++r)
      for (std::int64_t c = j; c < j + columns; c += line) hwy::Prefetch(ahead.data + r * ahead.stride + c);
  }
}

// Of those that are left: whole blocks, or one that is smaller.
HWY_INLINE std::int64_t next_rows(std::int64_t left) {
  if (left >= block_rows) return std::min<std::int64_t>(blocks_at_once, left / block_rows) * block_rows;
  int rows = block_rows;
  while (rows > left) rows = fewer(rows);
  return rows;
}

// All rows of x with the panel of columns [j, j + columns).
template <int vectors, bool transposed>
void rows_of(const Tile& t, std::int64_t begin, std::int64_t depth, std::int64_t j, std::int64_t columns,
             const float* panel) {
  for (std::int64_t i = 0, rows; i < t.m; i += rows) {
    rows = next_rows(t.m - i);
    if (begin + depth == t.k) ask_ahead(t, i, rows, j, columns);
    column_of<vectors, transposed>(rows, transposed ? t.x + begin * t.x_stride + i : t.x + i * t.x_stride + begin,
                                   t.x_stride, panel, depth, t.out + i * t.out_stride + j, t.out_stride, columns,
                                   begin > 0);
    count_products(rows * columns * depth);
  }
}

// Three vectors, but none is left over to stand alone behind them: four are two and two.
HWY_INLINE int panel_vectors(std::int64_t left, std::int64_t lanes) {
  const std::int64_t vectors = (left + lanes - 1) / lanes;
  return vectors == 4 ? 2 : static_cast<int>(std::clamp<std::int64_t>(vectors, least_width, block_width));
}

// A panel stays in the cache while all rows of x pass by.
template <class T, bool transposed = false>
void gemm_typed(const Tile& t, float* panel) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  for (std::int64_t begin = 0; begin < t.k; begin += tile_depth) {
    const std::int64_t depth = std::min(tile_depth, t.k - begin);
    for (std::int64_t j = 0, width; j < t.n; j += width) {
      const int vectors = panel_vectors(t.n - j, lanes);
      width = vectors * lanes;
      const std::int64_t columns = std::min(width, t.n - j);
      if (!t.has_panels) pack<T>(t, begin, depth, j, width, panel);
      if constexpr (block_width == 3)
        if (vectors == 3) rows_of<3, transposed>(t, begin, depth, j, columns, panel);
      if (vectors == 2) rows_of<2, transposed>(t, begin, depth, j, columns, panel);
      if constexpr (least_width == 1)
        if (vectors == 1) rows_of<1, transposed>(t, begin, depth, j, columns, panel);
      if (t.keeps_panels) panel += width * depth;
    }
  }
}

void gemm(const Tile& tile, float* packed) {
  if (tile.transposed) {
    HWY_DASSERT(tile.dtype == DType::float32);
    return gemm_typed<float, true>(tile, packed);
  }
  if (tile.dtype == DType::float32) return gemm_typed<float>(tile, packed);
  if (tile.dtype == DType::bfloat16) return gemm_typed<hwy::bfloat16_t>(tile, packed);
  gemm_typed<hwy::float16_t>(tile, packed);
}

bool is_faster([[maybe_unused]] std::int64_t rows) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return true;
#elif HWY_TARGET == HWY_AVX2
  return rows >= 256;
#else
  return false;  // not measured
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(gemm);
HWY_EXPORT(is_faster);

bool gemm_is_faster(std::int64_t rows) { return HWY_DYNAMIC_DISPATCH(is_faster)(rows); }

void gemm_tile(const Tile& tile, float* packed) { HWY_DYNAMIC_DISPATCH(gemm)(tile, packed); }

}  // namespace reckon
#endif
