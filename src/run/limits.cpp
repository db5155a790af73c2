// Best of a few runs each.
#include "run/limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

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

MachineLimits measure_limits(Engine& engine) {
  MachineLimits limits;
  constexpr std::int64_t piece = 1 << 20;
  std::vector<std::span<const std::byte>> pieces;
  std::int64_t total = 0;
  for (const Weight* matrix : engine.weights().matrices()) {
    const auto* data = static_cast<const std::byte*>(matrix->data);
    const std::int64_t size = matrix->rows * matrix->cols * bits(matrix->dtype) / 8;
    if (matrix->block_rows != 0 || matrix->rows * matrix->cols == 0) continue;
    // A slice of a fused tensor is read with gaps; whole ones say enough.
    if (matrix->row_stride != matrix->cols && matrix->col_stride != matrix->rows) continue;
    for (std::int64_t at = 0; at < size; at += piece) {
      pieces.push_back({data + at, static_cast<std::size_t>(std::min(piece, size - at))});
    }
    total += size;
  }
  Machine& machine = engine.machine();
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(machine.pool.threads()) * 8);
  if (total > 0) {
    const double taken = best_seconds(3, [&] {
      machine.pool.run(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t task, int worker) {
        const auto& bytes = pieces[static_cast<std::size_t>(task)];
        std::uint64_t sum[8] = {};
        for (std::size_t i = 0; i + 64 <= bytes.size(); i += 64) {
          std::uint64_t words[8];
          std::memcpy(words, bytes.data() + i, 64);
          for (int k = 0; k < 8; ++k) sum[k] ^= words[k];
        }
        for (std::uint64_t value : sum) sums[static_cast<std::size_t>(worker) * 8] ^= value;
      });
    });
    limits.read_bytes_per_second = static_cast<double>(total) / taken;
  }
  limits.product_flops_per_second = measure_product_limit(machine);
  return limits;
}

}  // namespace reckon
