#include "backend/cpu/cut.h"

#include <algorithm>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Few rows, K runs on: some 128 KiB of whole rows, in multiples of what few_rows_tile multiplies at once. Small enough
// that the last tiles end close together, large enough that memory streams.
std::int64_t rows_of_weights(const Weight& w) {
  constexpr std::int64_t bytes = 128 * 1024, step = 24, most = 1008;
  return std::clamp(bytes / (w.cols * bytes_of(w.dtype)) / step * step, step, most);
}

// Few rows, N runs on: memory streams only along whole rows, so K is cut; the sums' traffic stays below 1/96 of the
// weights'.
std::int64_t depth_of_weights(const Weight& w) {
  constexpr std::int64_t least = 96, most_parts = 16, step = 8;
  return std::max(least, ceiling(ceiling(w.cols, most_parts), step) * step);
}

Cut cut_of(const Product& product, std::int64_t room) {
  const Weight& w = product.weight;
  Cut cut{};
  cut.rows = few_rows;
  cut.depth = w.cols;
  if (product.rows > few_rows || product.turned) {
    const bool blas = blas_wanted(product.rows);
    const bool reuse = w.cols > 4096 || (product.turned && product.rows * w.rows >= reuse_rows * 1024);
    cut.rows = blas ? blas_rows : reuse ? reuse_rows : gemm_rows;
    cut.cols = blas ? blas_cols : reuse ? reuse_cols : gemm_cols;
  } else if (w.col_stride == 1) {
    cut.cols = rows_of_weights(w);
  } else if (ceiling(w.cols, depth_of_weights(w)) * product.rows * w.rows <= room) {
    cut.cols = w.rows;
    cut.depth = depth_of_weights(w);
  } else {
    cut.cols = 128;
  }
  cut.down = ceiling(product.rows, cut.rows);
  cut.across = ceiling(w.rows, std::max<std::int64_t>(1, cut.cols));
  cut.parts = ceiling(w.cols, cut.depth);
  return cut;
}

}  // namespace

Totals cut_products(std::span<const Product> products, std::vector<Cut>& cuts) {
  cuts.clear();
  Totals totals;
  std::int64_t sums = 0;
  for (const Product& product : products) {
    Cut cut = cut_of(product, static_cast<std::int64_t>(shared_scratch) - sums);
    cut.sums = sums;
    cut.first_tile = totals.tiles;
    cut.first_sum_tile = totals.sum_tiles;
    totals.tiles += cut.down * cut.across * cut.parts;
    if (cut.parts > 1 && product.rows > 0) totals.sum_tiles += ceiling(product.weight.rows, sum_cols);
    sums = cut.sums_end(product);
    cuts.push_back(cut);
  }
  return totals;
}

}  // namespace reckon
