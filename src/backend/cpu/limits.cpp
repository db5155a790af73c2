// What this machine can do at best, a piece at a time.
#include "backend/cpu/backend.h"
#include "backend/cpu/dense.h"
#include "backend/cpu/read_memory.h"
#include "backend/host_buffer.h"

#include <algorithm>
#include <chrono>

namespace reckon {
namespace {

using Range = std::span<const std::byte>;

double seconds(const auto& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of a size that a task reads.
std::vector<Range> pieces_of(std::span<const Range> ranges) {
  constexpr std::size_t piece = 2 << 20;
  std::vector<Range> pieces;
  for (Range rest : ranges) {
    for (; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size())))
      pieces.push_back(rest.first(std::min(piece, rest.size())));
  }
  return pieces;
}

// Bytes per second.
double read_rate(Pool& pool, std::span<const Range> pieces, std::size_t streams) {
  std::size_t total = 0;
  for (Range piece : pieces) total += piece.size();
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

Backend::Measure CpuBackend::product_limit() {
  constexpr std::int64_t m = 1024, n = 3072, k = 768;
  // Counted apart: a run's counters are its own.
  return [machine = Machine{pool_, scratch_, limit_counters_}, x = std::vector<float>(m * k, 0.5f),
          w = std::vector<float>(n * k, 0.25f), y = std::vector<float>(m * n)]() mutable {
    const Product product{x.data(), m, k, {w.data(), DType::float32, n, k, k, 1, 0, 0}, y.data(), n, {}};
    return 2.0 * m * n * k / seconds([&] { run_products(machine, {&product, 1}); });
  };
}

// A piece is up to 64 MiB for each number of places, from where the piece before it ended.
Backend::Measure CpuBackend::read_limit(const Parameters& parameters) {
  std::vector<Range> ranges;
  for (const auto& [key, data] : parameters) {
    for (const Weight& matrix : data.matrices) {
      const auto size = static_cast<std::size_t>(row_bytes(matrix.dtype, matrix.rows * matrix.cols));
      // A slice of a fused tensor has gaps; whole ones are enough.
      const bool whole =
          matrix.block_rows == 0 && (matrix.row_stride == matrix.cols || matrix.col_stride == matrix.rows);
      if (whole) ranges.push_back({static_cast<const std::byte*>(matrix.data), size});
    }
  }
  return [this, pieces = pieces_of(ranges), at = std::size_t{0}]() mutable {
    constexpr std::size_t most = 32;  // of 2 MiB
    double best = 0;
    for (const std::size_t streams : stream_counts) {
      if (at >= pieces.size()) at = 0;
      const auto here = std::span(pieces).subspan(at, std::min(most, pieces.size() - at));
      at += here.size();
      best = std::max(best, read_rate(pool_, here, streams));
    }
    return best;
  };
}

// Each thread goes through a part of its own, over and over where that is short, so that starting the threads costs
// little of the time.
Backend::MeasureTransfer CpuBackend::transfer_limit(std::int64_t most_bytes) {
  static constexpr std::int64_t at_once = std::int64_t{4} << 20, least = 4096;  // bytes of a thread
  const std::int64_t threads = pool_.threads();
  return [this, threads, buffer = std::make_shared<HostBuffer>(std::max(most_bytes, threads * least)),
          sums = std::vector<float>(static_cast<std::size_t>(threads))](Transfer kind, std::int64_t bytes) mutable {
    const std::int64_t part = std::max(least, bytes / threads), times = std::max<std::int64_t>(1, at_once / part);
    const auto rate = [&](std::size_t streams) {
      const double taken = seconds([&] {
        pool_.run(threads, [&](std::int64_t task, int) {
          std::byte* const own = buffer->at(task * part, part);
          for (std::int64_t i = 0; i < times; ++i) {
            if (kind == Transfer::read)
              sums[static_cast<std::size_t>(task)] += read_memory(own, static_cast<std::size_t>(part), streams);
            else
              write_memory(own, static_cast<std::size_t>(part));
          }
        });
      });
      return static_cast<double>(threads * part * times) / taken;
    };
    if (kind == Transfer::write) return rate(1);
    double best = 0;
    for (const std::size_t streams : stream_counts) best = std::max(best, rate(streams));
    return best;
  };
}

double measure_read_limit(Pool& pool, std::span<const std::span<const std::byte>> ranges) {
  const std::vector<Range> pieces = pieces_of(ranges);
  double best = 0;
  for (const std::size_t streams : stream_counts) best = std::max(best, read_rate(pool, pieces, streams));
  return best;
}

}  // namespace reckon
