// The tile of many rows without a BLAS: weights are packed into panels as wide as the registers' block, and each
// block of sums stays in registers while K runs.
#include <algorithm>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

constexpr int block_rows = vector_registers / 4;  // of x
constexpr int block_width = 3;                    // vectors of W's rows; at most 3·16 floats

// packed: panels of width × depth, element (p, j) of a panel at p·width + j; columns beyond n are zero.
template <class T>
HWY_INLINE void pack(const Tile& t, std::int64_t begin, std::int64_t depth, std::int64_t width, float* packed) {
  const OneFloat one;
  const T* w = static_cast<const T*>(t.w) + begin * t.col_stride;
  for (std::int64_t j = 0; j < t.n; j += width, packed += width * depth) {
    const std::int64_t columns = std::min(width, t.n - j);
    if (columns < width) std::fill(packed, packed + width * depth, 0.0f);
    if (t.col_stride == 1) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const T* row = w + (j + c) * t.row_stride;
        for (std::int64_t p = 0; p < depth; ++p) packed[p * width + c] = hn::GetLane(load(one, row + p));
      }
    } else {
      for (std::int64_t p = 0; p < depth; ++p)
        for (std::int64_t c = 0; c < columns; ++c)
          packed[p * width + c] = hn::GetLane(load(one, w + p * t.col_stride + j + c));
    }
  }
}

// out (rows × columns) = or += x (rows × depth) · panel.
template <int rows>
HWY_INLINE void block(const float* x, std::int64_t x_stride, const float* panel, std::int64_t depth, float* out,
                      std::int64_t out_stride, std::int64_t columns, bool add) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sums[rows][block_width];
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i)
    HWY_UNROLL(3)
    for (int j = 0; j < block_width; ++j) sums[i][j] = hn::Zero(d);
  for (std::int64_t p = 0; p < depth; ++p, panel += block_width * lanes) {
    hn::Vec<Floats> weights[block_width];
    HWY_UNROLL(3)
    for (int j = 0; j < block_width; ++j) weights[j] = hn::LoadU(d, panel + j * lanes);
    HWY_UNROLL(8)
    for (int i = 0; i < rows; ++i) {
      const auto element = hn::Set(d, x[i * x_stride + p]);
      HWY_UNROLL(3)
      for (int j = 0; j < block_width; ++j) sums[i][j] = hn::MulAdd(element, weights[j], sums[i][j]);
    }
  }
  HWY_ALIGN float edge[block_width * hn::MaxLanes(d)];
  const bool whole = columns == block_width * lanes;
  HWY_UNROLL(8)
  for (int i = 0; i < rows; ++i) {
    float* row = out + i * out_stride;
    HWY_UNROLL(3)
    for (int j = 0; j < block_width; ++j) {
      if (!whole) {
        hn::StoreU(sums[i][j], d, edge + j * lanes);
        continue;
      }
      float* to = row + j * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[i][j]) : sums[i][j], d, to);
    }
    if (!whole)
      for (std::int64_t c = 0; c < columns; ++c) row[c] = add ? row[c] + edge[c] : edge[c];
  }
}

template <int rows = block_rows>
HWY_INLINE void block_of(std::int64_t count, const float* x, std::int64_t x_stride, const float* panel,
                         std::int64_t depth, float* out, std::int64_t out_stride, std::int64_t columns, bool add) {
  if constexpr (rows > 0) {
    if (count == rows) return block<rows>(x, x_stride, panel, depth, out, out_stride, columns, add);
    block_of<rows - 1>(count, x, x_stride, panel, depth, out, out_stride, columns, add);
  }
}

template <class T>
HWY_INLINE void gemm_typed(const Tile& t, float* packed) {
  const std::int64_t width = block_width * static_cast<std::int64_t>(hn::Lanes(Floats()));
  for (std::int64_t begin = 0; begin < t.k; begin += tile_depth) {
    const std::int64_t depth = std::min(tile_depth, t.k - begin);
    pack<T>(t, begin, depth, width, packed);
    for (std::int64_t i = 0; i < t.m; i += block_rows)
      for (std::int64_t j = 0; j < t.n; j += width)
        block_of(std::min<std::int64_t>(block_rows, t.m - i), t.x + i * t.x_stride + begin, t.x_stride,
                 packed + j * depth, depth, t.out + i * t.out_stride + j, t.out_stride, std::min(width, t.n - j),
                 begin > 0);
  }
}

void gemm(const Tile& tile, float* packed) {
  if (tile.dtype == DType::float32) return gemm_typed<float>(tile, packed);
  if (tile.dtype == DType::bfloat16) return gemm_typed<hwy::bfloat16_t>(tile, packed);
  gemm_typed<hwy::float16_t>(tile, packed);
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(gemm);

void gemm_tile(const Tile& tile, float* packed) { HWY_DYNAMIC_DISPATCH(gemm)(tile, packed); }

}  // namespace reckon
#endif
