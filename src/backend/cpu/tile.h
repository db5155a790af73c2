// The kernels below a dense product: each makes one tile of y, alone on its thread, and counts what it multiplies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/cpu/dense.h"
#include "lowering/target.h"

namespace reckon {

// Up to so many rows of x the time goes into reading the weights; beyond, into arithmetic.
constexpr std::int64_t few_rows = cpu_target.few_rows;

// The largest tiles of many rows: rows of x by rows of W, and how deep weights are packed or converted at a time.
// Our own kernel streams x past a narrow panel of weights; OpenBLAS packs both, which pays for squarer tiles only.
constexpr std::int64_t gemm_rows = 512, gemm_cols = 48;
// Where K is long, a tile has fewer rows, down to these, so that many threads are done together: a worker's tiles of
// the same columns follow each other, and the weights stay packed from one to the next.
constexpr std::int64_t gemm_fewest_rows = 128, gemm_row_work = gemm_fewest_rows * 768;  // rows × K
// Where x is too large to be read again for every panel, it stays in the cache while several pass by.
constexpr std::int64_t reuse_rows = 256, reuse_cols = 192;
constexpr std::int64_t blas_rows = 256, blas_cols = 384;
constexpr std::int64_t tile_depth = 1024;
constexpr std::int64_t gemm_panel = gemm_cols * tile_depth;  // floats

// A worker's scratch, in floats: a tile of results, then packed or converted weights.
constexpr std::size_t tile_results = blas_rows * blas_cols;
constexpr std::size_t tile_scratch = tile_results + blas_cols * tile_depth;
static_assert(gemm_rows * gemm_cols <= blas_rows * blas_cols);

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
  bool transposed = false;  // as in Product, with float32 alone; few_rows_tile does not know it
  // What finishing the tile will touch, row by row: asked for while there is arithmetic to do. Null: nothing.
  struct Ahead {
    const float* data = nullptr;
    std::int64_t stride = 0;
  } ahead[2] = {};
  const std::byte* x8 = nullptr;       // as in Product
  const std::uint16_t* x16 = nullptr;  // the same rows packed for AMX, where it multiplies them (quantised.h)
  std::int64_t interleaved = 0;        // of W's rows, from the first on (interleave.h)
  // gemm_tile: all of K's panels stay behind each other where they are packed, which takes room for n × k floats, n
  // being a multiple of gemm_cols or below it; or they lie there already.
  bool keeps_panels = false, has_panels = false;
};

// For few rows: reads each weight once, in its stored type, at the speed of memory.
// Each element's sum runs in an order that depends on k, the type and the layout alone, not on the tile it is part of.
void few_rows_tile(const Tile& tile);
// Whose processors read memory best in another way.
enum class Cores { others, amd, zen5 };  // zen5: AMD's from Zen 5 on
#if defined(__x86_64__) || defined(__i386__)
Cores cores();
#else
constexpr Cores cores() { return Cores::others; }
#endif

// For many rows: packs the weights as float32 into `panel`, gemm_panel at most unless they are kept, and blocks by
// registers.
void gemm_tile(const Tile& tile, float* panel);

// Whether gemm_tile was measured to be faster than OpenBLAS' tile on this instruction set (bench/dense.cpp).
bool gemm_is_faster(std::int64_t rows);

// For many rows, by OpenBLAS on one thread: weights of float32 are read where they are, others are converted first.
// A build without OpenBLAS has a twin that says so and does nothing; one with it says so where it is not installed, or
// where this process has not set it to one thread (blas.cpp).
bool have_blas();
std::string blas_name();  // "OpenBLAS 0.3.21 … Zen …": its version, and the kernels that it chose for this processor
void blas_tile(const Tile& tile, float* converted);

// Tests and benchmarks choose between the two; not while products run. Automatic: the faster one.
enum class ManyRows { automatic, highway, blas };
void choose_many_rows(ManyRows choice);
bool blas_wanted(std::int64_t rows);

// Stored weights as float32: `count` elements that run on.
void convert_weights(DType dtype, const void* from, std::int64_t count, float* to);

// to[i] = the sum of `parts` numbers from[i], from[i + stride] …, in that order.
void add_parts(const float* from, std::int64_t parts, std::int64_t stride, std::int64_t count, float* to);

// Columns [first, first + count) of y's rows [row, row + rows), from the product's elements (rows × count). `y` is
// where the first of them goes.
void finish_rows(const Epilogue& epilogue, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                 const float* product, float* y, std::int64_t y_stride);

}  // namespace reckon
