// Cuts products into tiles by their shape alone, shares the tiles out, and counts what each kernel call did.
#include "backend/cpu/dense.h"

#include <reckon/error.h>

#include <algorithm>
#include <string>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

bool blas_wanted = true;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How a product is cut: tiles of at most rows × cols.
struct Cut {
  std::int64_t rows, cols;
};

Cut cut_of(const Product& product) {
  const Weight& w = product.weight;
  if (product.rows > few_rows) return {tile_rows, tile_cols};
  // Small enough that the last tiles end close together, large enough that memory streams: some 128 KiB where K runs
  // on, in multiples of what few_rows_tile multiplies at once; where N runs on, row pieces of at least 256 bytes.
  if (w.col_stride == 1) {
    constexpr std::int64_t bytes = 128 * 1024, step = 24, most = 1008;
    return {few_rows, std::clamp(bytes / (w.cols * bytes_of(w.dtype)) / step * step, step, most)};
  }
  if (product.rows > 3) return {few_rows, 96};
  return {few_rows, w.rows < 1536 && w.dtype == DType::float32 ? 64 : 128};
}

std::int64_t tiles_of(const Product& product) {
  const Cut cut = cut_of(product);
  return ceiling(product.rows, cut.rows) * ceiling(product.weight.rows, cut.cols);
}

void check(const Product& product) {
  const Weight& w = product.weight;
  if (w.dtype != DType::float32 && w.dtype != DType::bfloat16 && w.dtype != DType::float16)
    throw Error("a dense product: its weights have a type that no kernel reads, expected float32, bfloat16 or float16");
  if (w.cols < 1) throw Error("a dense product: weights with no columns, expected at least one");
  if (w.row_stride != 1 && w.col_stride != 1)
    throw Error("a dense product: weights with strides " + std::to_string(w.row_stride) + " and " +
                std::to_string(w.col_stride) + ", expected one of them to be 1");
}

// A tile of the product for rows [row, row + m) and W's rows [first, first + n), which lie in one block.
Tile tile_of(const Product& product, std::int64_t row, std::int64_t m, std::int64_t first, std::int64_t n, float* out,
             std::int64_t out_stride) {
  const Weight& w = product.weight;
  const std::int64_t at = w.block_rows ? first / w.block_rows * w.block_stride + first % w.block_rows * w.row_stride
                                       : first * w.row_stride;
  return {m,        n,
          w.cols,   product.x + row * product.x_stride,
          product.x_stride, element(w.dtype, w.data, at),
          w.dtype,  w.row_stride,
          w.col_stride, out,
          out_stride};
}

void run_tile(const Product& product, std::int64_t index, std::span<float> scratch, Count& count) {
  const Weight& w = product.weight;
  const Cut cut = cut_of(product);
  const std::int64_t down = ceiling(product.rows, cut.rows);
  const std::int64_t row = index % down * cut.rows, first = index / down * cut.cols;
  const std::int64_t m = std::min(cut.rows, product.rows - row), n = std::min(cut.cols, w.rows - first);

  float* const results = scratch.data();
  float* const weights = results + tile_results;
  for (std::int64_t j = first, next; j < first + n; j = next) {
    next = w.block_rows ? std::min(first + n, (j / w.block_rows + 1) * w.block_rows) : first + n;
    const Tile tile = tile_of(product, row, m, j, next - j, results + (j - first), n);
    if (product.rows <= few_rows)
      few_rows_tile(tile);
    else if (uses_blas())
      blas_tile(tile, weights);
    else
      gemm_tile(tile, weights);
    count.matmul_flops += 2 * tile.m * tile.n * tile.k;
    count.weight_bytes += row == 0 ? tile.n * tile.k * bytes_of(w.dtype) : 0;
    ++count.calls;
  }
  for (std::int64_t i = 0; i < m; ++i)
    finish_row(product.epilogue, row + i, first, n, results + i * n, product.y + (row + i) * product.y_stride + first);
}

}  // namespace

bool uses_blas() { return blas_wanted && have_blas(); }
void use_blas(bool use) { blas_wanted = use; }

void run_products(Pool& pool, std::span<const Product> products, Scratch& scratch, Counters& counters) {
  std::int64_t tiles = 0;
  for (const Product& product : products) {
    check(product);
    tiles += tiles_of(product);
  }
  pool.run(tiles, [&](std::int64_t tile, int worker) {
    std::int64_t before = 0;
    std::size_t i = 0;
    for (std::int64_t own = tiles_of(products[0]); tile >= before + own; own = tiles_of(products[++i])) before += own;
    run_tile(products[i], tile - before, scratch.of(worker), counters.of(worker));
  });
}

}  // namespace reckon
