#include "run/limits.h"

#include <algorithm>

#include "backend/cpu/read_memory.h"

namespace reckon {
namespace {

using Stretch = std::span<const std::byte>;

double seconds(const auto& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of a size that a task reads.
std::vector<Stretch> pieces_of(std::span<const Stretch> stretches) {
  constexpr std::size_t piece = 2 << 20;
  std::vector<Stretch> pieces;
  for (Stretch rest : stretches) {
    for (; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size())))
      pieces.push_back(rest.first(std::min(piece, rest.size())));
  }
  return pieces;
}

// Bytes per second.
double read_rate(Pool& pool, std::span<const Stretch> pieces, std::size_t streams) {
  std::size_t total = 0;
  for (Stretch piece : pieces) total += piece.size();
  std::vector<float> sums(pieces.size());
  return static_cast<double>(total) / seconds([&] {
           pool.run(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t task, int) {
             const auto i = static_cast<std::size_t>(task);
             sums[i] = read_memory(pieces[i].data(), pieces[i].size(), streams);
           });
         });
}

constexpr std::size_t stream_counts[] = {1, 2, 4};

}  // namespace

std::optional<Spread> spread_of(std::vector<double> rates) {
  if (rates.size() < 3) return std::nullopt;
  std::sort(rates.begin(), rates.end());
  return Spread{rates.front(), rates[rates.size() / 2], rates.back()};
}

std::optional<double> Limit::turn() {
  constexpr double share = 0.01;  // of the time
  if (!rates_.empty() && Clock::now() < next_) return std::nullopt;
  if (rates_.empty()) measure_();  // its memory is still cold
  double rate = 0;
  const double taken = seconds([&] { rate = measure_(); });
  next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(taken / share));
  rates_.push_back(rate);
  return rate;
}

Limit::Measure product_limit(Machine& machine) {
  constexpr std::int64_t m = 1024, n = 3072, k = 768;
  return [&machine, x = std::vector<float>(m * k, 0.5f), w = std::vector<float>(n * k, 0.25f),
          y = std::vector<float>(m * n)]() mutable {
    const Product product{x.data(), m, k, {w.data(), DType::float32, n, k, k, 1, 0, 0}, y.data(), n, {}};
    return 2.0 * m * n * k / seconds([&] { run_products(machine, {&product, 1}); });
  };
}

Limit::Measure read_limit(Engine& engine) {
  std::vector<Stretch> stretches;
  for (const Weight* matrix : engine.core().weights().matrices()) {
    const auto size = static_cast<std::size_t>(row_bytes(matrix->dtype, matrix->rows * matrix->cols));
    // A slice of a fused tensor has gaps; whole ones are enough.
    const bool whole =
        matrix->block_rows == 0 && (matrix->row_stride == matrix->cols || matrix->col_stride == matrix->rows);
    if (whole) stretches.push_back({static_cast<const std::byte*>(matrix->data), size});
  }
  return [&engine, pieces = pieces_of(stretches), at = std::size_t{0}]() mutable {
    constexpr std::size_t most = 32;  // of 2 MiB
    double best = 0;
    for (const std::size_t streams : stream_counts) {
      if (at >= pieces.size()) at = 0;
      const auto here = std::span(pieces).subspan(at, std::min(most, pieces.size() - at));
      at += here.size();
      best = std::max(best, read_rate(engine.core().machine().pool, here, streams));
    }
    return best;
  };
}

double measure_read_limit(Pool& pool, std::span<const std::span<const std::byte>> stretches) {
  const std::vector<Stretch> pieces = pieces_of(stretches);
  double best = 0;
  for (const std::size_t streams : stream_counts) best = std::max(best, read_rate(pool, pieces, streams));
  return best;
}

}  // namespace reckon
