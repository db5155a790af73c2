// Best of a few runs each.
#include "run/limits.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "backend/cpu/read_memory.h"

namespace reckon {
namespace {

template <class Body>
double best_seconds(int runs, const Body& body) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

double measure_product_limit(Machine& machine) {
  constexpr std::int64_t m = 1024, n = 3072, k = 768;
  const std::vector<float> x(m * k, 0.5f), w(n * k, 0.25f);
  std::vector<float> y(m * n);
  const Product product{x.data(), m, k, {w.data(), DType::float32, n, k, k, 1, 0, 0}, y.data(), n, {}};
  const double taken = best_seconds(3, [&] {
    run_products(machine.pool, {&product, 1}, machine.scratch, machine.counters);
  });
  return 2.0 * m * n * k / taken;
}

double measure_read_limit(Pool& pool, std::span<const std::span<const std::byte>> stretches) {
  constexpr std::size_t piece = 2 << 20;
  std::vector<std::span<const std::byte>> pieces;
  std::size_t total = 0;
  for (std::span<const std::byte> rest : stretches) {
    total += rest.size();
    for (; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size())))
      pieces.push_back(rest.first(std::min(piece, rest.size())));
  }
  std::vector<float> sums(pieces.size());
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t streams : {1, 2, 4}) {
    best = std::min(best, best_seconds(1, [&] {
                      pool.run(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t task, int) {
                        const auto i = static_cast<std::size_t>(task);
                        sums[i] = read_memory(pieces[i].data(), pieces[i].size(), streams);
                      });
                    }));
  }
  return static_cast<double>(total) / best;
}

MachineLimits measure_limits(Engine& engine) {
  std::vector<std::span<const std::byte>> stretches;
  std::size_t room = std::size_t{512} << 20;  // as much says enough
  for (const Weight* matrix : engine.weights().matrices()) {
    const auto size = static_cast<std::size_t>(matrix->rows * matrix->cols * bits(matrix->dtype) / 8);
    if (matrix->block_rows != 0 || size == 0) continue;
    // A slice of a fused tensor has gaps; whole ones are enough.
    if (matrix->row_stride != matrix->cols && matrix->col_stride != matrix->rows) continue;
    stretches.push_back({static_cast<const std::byte*>(matrix->data), std::min(size, room)});
    room -= stretches.back().size();
  }
  Machine& machine = engine.machine();
  return {stretches.empty() ? 0.0 : measure_read_limit(machine.pool, stretches), measure_product_limit(machine)};
}

}  // namespace reckon
