// The kernels below a dense product: each makes one tile of y, alone on its thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/dense.h"

namespace reckon {

// Up to so many rows of x the time goes into reading the weights; beyond, into arithmetic.
constexpr std::int64_t few_rows = 16;

// The largest tile of many rows: rows of x, rows of W, and how deep weights are packed or converted at a time.
constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t tile_cols = 384;
constexpr std::int64_t tile_depth = 1024;

// A worker's scratch, in floats: a tile of results, then packed or converted weights (their rows padded to 64).
constexpr std::size_t tile_results = tile_rows * tile_cols;
constexpr std::size_t tile_scratch = tile_results + (tile_cols + 64) * tile_depth;

// Scratch that all workers share, in floats: sums of parts of K.
constexpr std::size_t shared_scratch = 2 << 20;

// out (m × n) = x (m × k)·wᵀ. W has no blocks here: its element (j, p) is at j·row_stride + p·col_stride.
struct Tile {
  std::int64_t m, n, k;
  const float* x;
  std::int64_t x_stride;
  const void* w;
  DType dtype;
  std::int64_t row_stride, col_stride;  // one of them is 1
  float* out;
  std::int64_t out_stride;
};

// For few rows: reads each weight once, in its stored type, at the speed of memory.
// Each element's sum runs in an order that depends on k and the layout alone, not on the tile it is part of.
void few_rows_tile(const Tile& tile);

// For many rows: packs the weights as float32 into `packed`, (n padded to 64) × tile_depth, and blocks by registers.
void gemm_tile(const Tile& tile, float* packed);

// For many rows, by OpenBLAS on one thread: weights of float32 are read where they are, others are converted first.
// A build without OpenBLAS has a twin that says so and does nothing.
bool have_blas();
void blas_tile(const Tile& tile, float* converted);

// Tests and benchmarks turn OpenBLAS off to see the other path; not while products run.
bool uses_blas();
void use_blas(bool use);

// Stored weights as float32: `count` elements that run on.
void convert_weights(DType dtype, const void* from, std::int64_t count, float* to);

// to[i] = the sum of `parts` numbers from[i], from[i + stride] …, in that order.
void add_parts(const float* from, std::int64_t parts, std::int64_t stride, std::int64_t count, float* to);

// y[first, first + count) of one row, from the same elements of that row's product.
void finish_row(const Epilogue& epilogue, std::int64_t row, std::int64_t first, std::int64_t count,
                const float* product, float* y);

}  // namespace reckon
