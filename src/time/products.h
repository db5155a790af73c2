// How long a product takes on a device that cuts it into tiles, one to a multiprocessor at a time.
//
// A product of m × k by k × n is cut into tiles of its result, and its depth k, where that leaves multiprocessors
// without work, into slices whose sums are added up afterwards. A wave is as many tiles as there are
// multiprocessors; the last one takes as long as a full one. A tile takes
//   max(2·rows·columns, loads·(rows + columns)) · depth / rate of a multiprocessor   multiplying or loading operands
//   + start                                                                          until its first operands are there
//   + its bytes / a multiprocessor's share of the memory's bandwidth                  writing its result,
// and a multiprocessor, which holds one tile, computes nothing meanwhile. The largest tile, 128 × 256, multiplies as
// long as it loads, which sets `loads`; smaller ones load for longer, rows and columns that are there. Of all ways to
// cut a product the fastest is taken.
//
// A product of few rows (a token of each sequence and a matrix) or of few columns has thin tiles, which cover all of
// them: each of its matrix's elements is then loaded once, from memory, whose time is that of the op's bytes and not
// counted here, and only the few rows are loaded by tile after tile. Thin tiles are small enough for several to share a
// multiprocessor: one starts while others multiply.
#pragma once

namespace reckon {

struct ProductShape {
  double batch = 1;  // alike products side by side
  double m = 0, n = 0, k = 0;
  double flops() const { return 2 * batch * m * n * k; }
};

struct TiledDevice {
  double multiprocessors = 0;  // 0: not known, and products are not cut
  double bandwidth = 0;        // bytes/s of memory
  double start = 0;            // seconds
};

// With `rate` FLOP/s of all multiprocessors together while they compute, and results of so many bytes an element.
double product_seconds(const ProductShape& shape, const TiledDevice& device, double rate, double result_bytes);

// The rate with which a product takes so long.
double rate_behind(const ProductShape& shape, const TiledDevice& device, double seconds, double result_bytes);

}  // namespace reckon
