#include "backend/cpu/cut.h"

#include <algorithm>

#include "backend/cpu/bfloat16.h"
#include "backend/cpu/dtype.h"
#include "backend/cpu/instructions.h"
#include "backend/cpu/quantised.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Few rows, K runs on: some 128 KiB of whole rows, in multiples of what few_rows_tile multiplies at once, or of what is
// interleaved, and no more than leave tiles for many threads. A thread's tiles follow each other, so memory streams on
// from one to the next.
std::int64_t rows_of_weights(const Weight& w) {
  constexpr std::int64_t most_bytes = 128 * 1024, least_bytes = 8 * 1024, tiles = 32, most_rows = 1008;
  const std::int64_t row = row_bytes(w.dtype, w.cols), step = is_quantised(w.dtype) ? 16 : 24;
  const std::int64_t share = ceiling(std::max(ceiling(w.rows, tiles), ceiling(least_bytes, row)), step) * step;
  return std::clamp(most_bytes / row / step * step, step, std::min(share, most_rows));
}

// Few rows, N runs on: memory streams only along whole rows, so K is cut; there are about as many sums as 1/48 of the
// weights.
std::int64_t depth_of_weights(const Weight& w) {
  constexpr std::int64_t least = 48, most_parts = 32, step = 8;
  return std::max(least, ceiling(ceiling(w.cols, most_parts), step) * step);
}

// As many tiles as `most` columns make, but of about the same width each: two threads share 64 columns as 32 and 32,
// not as 48 and 16.
std::int64_t even_columns(std::int64_t columns, std::int64_t most) {
  constexpr std::int64_t step = 16;  // the floats of the widest vector
  const std::int64_t tiles = ceiling(std::max<std::int64_t>(1, columns), most);
  return std::min(most, ceiling(ceiling(columns, tiles), step) * step);
}

// Of our own kernel's tiles of many rows.
std::int64_t rows_of_gemm(std::int64_t k) {
  std::int64_t rows = gemm_rows;
  while (rows > gemm_fewest_rows && rows * k > gemm_row_work) rows /= 2;
  return rows;
}

// Whether N runs on from the weights of `product` to those of `next`, which multiply the same x.
bool runs_on(const Product& product, const Product& next) {
  const Weight &w = product.weight, &v = next.weight;
  return w.row_stride == 1 && w.col_stride != 1 && w.block_rows == 0 && v.block_rows == 0 && v.row_stride == 1 &&
         w.col_stride == v.col_stride && w.cols == v.cols && w.dtype == v.dtype &&
         element(w.dtype, w.data, w.rows) == v.data && product.x == next.x && product.x_stride == next.x_stride &&
         product.rows == next.rows && !next.transposed;
}

// Of the first of these products, with those that run on from it where that is how it is cut.
Cut cut_of(std::span<const Product> products, std::int64_t room) {
  const Product& product = products[0];
  const Weight& w = product.weight;
  Cut cut{};
  cut.rows = few_rows;
  cut.depth = w.cols;
  cut.columns = w.rows;
  cut.products = 1;
  if (product.rows > few_rows || product.transposed) {
    const bool native = native_bfloat16(product);  // which packs x as well as W
    const bool blas = product.x8 == nullptr && !native && blas_wanted(product.rows);
    const bool amx = product.x8 != nullptr && amx_quantised();
    const bool reuse =
        native || (w.cols > 4096 && !amx) || (product.transposed && product.rows * w.rows >= reuse_rows * 1024);
    cut.rows = blas ? blas_rows : reuse ? reuse_rows : product.x8 != nullptr ? gemm_rows : rows_of_gemm(w.cols);
    cut.cols = blas ? blas_cols : even_columns(w.rows, reuse ? reuse_cols : gemm_cols);
  } else if (w.col_stride == 1) {
    cut.cols = rows_of_weights(w);
  } else {
    const std::int64_t depth = depth_of_weights(w), parts = ceiling(w.cols, depth);
    std::int64_t columns = w.rows, together = 1;
    for (std::size_t i = 1; i < products.size() && runs_on(products[i - 1], products[i]); ++i)
      columns += products[i].weight.rows, ++together;
    if (parts == 1) {
      cut.cols = 1024;
    } else if (parts * product.rows * columns <= room) {
      cut.cols = cut.columns = columns;
      cut.products = together;
      cut.depth = depth;
    } else {
      cut.cols = 128;
    }
  }
  cut.down = ceiling(product.rows, cut.rows);
  cut.across = ceiling(cut.columns, std::max<std::int64_t>(1, cut.cols));
  cut.parts = ceiling(w.cols, cut.depth);
  return cut;
}

// Where x of a product with quantised weights is packed for AMX, in shared scratch from `taken` on: whoever multiplies
// the same x shares it. Without room it is not.
void pack_for_amx(std::span<const Product> products, std::size_t i, std::span<const Cut> before, Cut& cut,
                  std::int64_t& taken) {
  constexpr std::int64_t line = 16;  // floats
  const Product& product = products[i];
  cut.packed = -1;
  if (product.x8 == nullptr || product.rows <= few_rows || !amx_quantised()) return;
  if (i > 0 && before.back().packed >= 0 && products[i - 1].x8 == product.x8 && products[i - 1].rows == product.rows &&
      products[i - 1].weight.cols == product.weight.cols) {
    cut.packed = before.back().packed;
    return;
  }
  const std::int64_t from = ceiling(taken, line) * line, floats = amx_packed(product.rows, product.weight.cols) / 2;
  if (from + floats > static_cast<std::int64_t>(shared_scratch)) return;
  cut.packed = from;
  cut.pack_tiles = ceiling(product.rows, few_rows);
  taken = from + floats;
}

}  // namespace

Totals cut_products(std::span<const Product> products, std::vector<Cut>& cuts) {
  cuts.clear();
  Totals totals;
  std::int64_t sums = 0;  // floats of shared scratch that are taken
  for (std::size_t i = 0; i < products.size(); ++i) {
    Cut cut;
    if (i > 0 && cuts.back().parts > 1 && runs_on(products[i - 1], products[i])) {
      cut = cuts.back();
      cut.sums += products[i - 1].weight.rows;
      cut.first_tile = totals.tiles;  // it has none of its own
    } else {
      cut = cut_of(products.subspan(i), static_cast<std::int64_t>(shared_scratch) - sums);
      cut.sums = sums;
      cut.first_tile = totals.tiles;
      totals.tiles += cut.down * cut.across * cut.parts;
      if (cut.parts > 1) sums += cut.parts * products[i].rows * cut.columns;
    }
    cut.pack_tiles = 0;
    cut.first_pack_tile = totals.pack_tiles;
    pack_for_amx(products, i, cuts, cut, sums);
    totals.pack_tiles += cut.pack_tiles;
    cut.first_sum_tile = totals.sum_tiles;
    if (cut.parts > 1 && products[i].rows > 0) totals.sum_tiles += ceiling(products[i].weight.rows, sum_cols);
    cuts.push_back(cut);
  }
  return totals;
}

}  // namespace reckon
