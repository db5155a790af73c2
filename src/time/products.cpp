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

constexpr double most_slices = 32, least_depth = 256, partial_bytes = 4;  // partial sums are float32

// One way to cut: it takes waves · (work / rate + between) + after.
struct Cut {
  double waves, work, between, after;
};

template <class Visit>
void each_cut(const ProductShape& shape, const TiledDevice& device, double result_bytes, Visit visit) {
  const double processors = device.multiprocessors, own_bandwidth = device.bandwidth / processors;
  for (const Tile& tile : tiles) {
    const double count = shape.batch * std::ceil(shape.m / tile.rows) * std::ceil(shape.n / tile.columns);
    for (double slices = 1; slices <= most_slices; ++slices) {
      const double depth = std::ceil(shape.k / slices);
      if (slices > 1 && (depth < least_depth || count * (slices - 1) >= processors * 2)) break;
      const bool sliced = slices > 1;
      const double elements = tile.rows * tile.columns, result = shape.batch * shape.m * shape.n;
      const double step =
          std::max(2 * elements, loads * (std::min(tile.rows, shape.m) + std::min(tile.columns, shape.n)));
      visit(Cut{std::ceil(count * slices / processors), step * depth * processors,
                device.start + elements * (sliced ? partial_bytes : result_bytes) / own_bandwidth,
                sliced ? device.start + result * (slices * partial_bytes + result_bytes) / device.bandwidth : 0});
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
