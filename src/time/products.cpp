#include "time/products.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reckon {
namespace {

struct Tile {
  double rows, columns;
};
constexpr Tile tiles[] = {{128, 256}, {256, 128}, {128, 128}, {64, 128}, {128, 64}, {64, 64}};

// FLOPs in whose time a row or column of operands is loaded, at each step of the depth.
constexpr double loads = 2.0 * 128 * 256 / (128 + 256);

constexpr int most_slices = 32;
constexpr double least_depth = 256, partial_bytes = 4;  // partial sums are float32

// One way to cut: it takes waves · (work / rate + between) + after.
struct Cut {
  double waves, work, between, after;
};

// Tensor cores multiply 8 rows at the least (NVIDIA's mma.m16n8k16, where the matrix has the 16), and libraries have
// kernels of these heights.
constexpr double thin_rows[] = {8, 16, 32, 64}, thin_columns[] = {64, 128, 256};

// A tile may be as high as there are rows, up to 256: Hopper's wgmma multiplies any multiple of 8 of them by 64. Of
// products with 129 to 256 rows an H200 took as long as with such tiles, not as with two of 128 (docs/predicting.md).
constexpr double all_rows[] = {96, 160, 192, 224}, beside_all_rows = 128;

// Tiles of one size: `step` is the work of one at each step of the depth, `start` the seconds that a multiprocessor
// waits at the beginning of each, `first` those that the whole product waits.
struct Tiling {
  double rows, columns, step, start, first;
};

template <class Visit>
void each_slicing(const ProductShape& shape, const TiledDevice& device, double result_bytes, const Tiling& tiling,
                  Visit visit) {
  const double processors = device.multiprocessors, own_bandwidth = device.bandwidth / processors;
  const double count = shape.batch * std::ceil(shape.m / tiling.rows) * std::ceil(shape.n / tiling.columns);
  const double elements = std::min(tiling.rows, shape.m) * std::min(tiling.columns, shape.n);
  const double result = shape.batch * shape.m * shape.n;
  for (int slices = 1; slices <= most_slices; ++slices) {
    const double depth = std::ceil(shape.k / slices);
    if (slices > 1 && (depth < least_depth || count * (slices - 1) >= processors * 2)) break;
    const bool sliced = slices > 1;
    visit(Cut{std::ceil(count * slices / processors), tiling.step * depth * processors,
              tiling.start + elements * (sliced ? partial_bytes : result_bytes) / own_bandwidth,
              tiling.first +
                  (sliced ? device.start + result * (slices * partial_bytes + result_bytes) / device.bandwidth : 0)});
  }
}

template <class Visit>
void each_cut(const ProductShape& shape, const TiledDevice& device, double result_bytes, Visit visit) {
  const auto with = [&](const Tile& tile) {
    const double step = std::max(2 * tile.rows * tile.columns,
                                 loads * (std::min(tile.rows, shape.m) + std::min(tile.columns, shape.n)));
    each_slicing(shape, device, result_bytes, {tile.rows, tile.columns, step, device.start, 0}, visit);
  };
  for (const Tile& tile : tiles) with(tile);
  for (const double all : all_rows) {
    if (shape.m <= all) with({all, beside_all_rows});
    if (shape.n <= all) with({beside_all_rows, all});
  }
  for (const double thin : thin_rows) {
    for (const double wide : thin_columns) {
      const auto step = [&](double few) { return std::max(2 * thin * wide, loads * few); };
      if (shape.m <= thin)
        each_slicing(shape, device, result_bytes, {thin, wide, step(shape.m), 0, device.start}, visit);
      if (shape.n <= thin)
        each_slicing(shape, device, result_bytes, {wide, thin, step(shape.n), 0, device.start}, visit);
    }
  }
}

}  // namespace

double product_seconds(const ProductShape& shape, const TiledDevice& device, double rate, double result_bytes) {
  if (device.multiprocessors <= 0) return shape.flops() / rate;
  double best = std::numeric_limits<double>::infinity();
  each_cut(shape, device, result_bytes,
           [&](const Cut& cut) { best = std::min(best, cut.waves * (cut.work / rate + cut.between) + cut.after); });
  return best;
}

double rate_behind(const ProductShape& shape, const TiledDevice& device, double seconds, double result_bytes) {
  if (device.multiprocessors <= 0) return shape.flops() / seconds;
  // The slowest rate at which any cut takes no longer.
  double best = std::numeric_limits<double>::infinity();
  each_cut(shape, device, result_bytes, [&](const Cut& cut) {
    const double left = (seconds - cut.after) / cut.waves - cut.between;
    if (left > 0) best = std::min(best, cut.work / left);
  });
  return std::isinf(best) ? shape.flops() / seconds : best;  // faster than memory: the start was not paid
}

}  // namespace reckon
