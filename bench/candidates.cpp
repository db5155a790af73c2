// How the kernels of few rows could read weights, each candidate beside a loop that only reads, in interleaved rounds:
//   float32, bfloat16, float16   rows of W side by side, how far ahead memory is asked for, near rows or far ones
//   GGUF's encodings             how far ahead; as the file has them or interleaved; and many rows, in GFLOP/s
// A star stands before what is chosen now. Usage: bench_candidates [rounds] [columns of W] [threads]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "backend/cpu/dense.h"
#include "backend/cpu/instructions.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/quantised.h"
#include "backend/cpu/backend.h"
#include "backend/host_buffer.h"
#include "threads/pool.h"

#define RECKON_INTEGERS candidates
#define RECKON_INTEGERS_BEFORE HWY_BEFORE_NAMESPACE()
#define RECKON_INTEGERS_AFTER HWY_AFTER_NAMESPACE()
#define RECKON_INTEGERS_ATTR HWY_ATTR
#ifdef __AVX512VNNI__
#define RECKON_VNNI 1
#else
#define RECKON_VNNI 0
#endif
#define RECKON_SDOT 0
#include "backend/cpu/few_rows-inl.h"
#include "backend/cpu/quantised_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

template <class T, Reading how>
void read_floats(const std::byte* w, std::int64_t n, std::int64_t k, const std::byte* x, float* out) {
  Tile tile{};
  tile.n = n;
  tile.k = k;
  tile.row_stride = k;
  dots_of_rows<1, how>(tile, reinterpret_cast<const T*>(w), reinterpret_cast<const float*>(x), out);
}

#if HWY_TARGET != HWY_SCALAR
template <class Block, int ahead>
void read_rows(const std::byte* w, std::int64_t n, std::int64_t k, const std::byte* x, float* out) {
  const candidates::Activations row(x, k);
  const std::int64_t bytes = k / Block::elements * Block::bytes;
  for (std::int64_t j = 0; j < n; ++j)
    candidates::quantised_dots<Block, 1, ahead>(reinterpret_cast<const std::uint8_t*>(w) + j * bytes, &row, k, out + j,
                                                n);
}
#endif

#if RECKON_WIDE
template <class Block, int panels, int ahead>
void read_interleaved(const std::byte* w, std::int64_t n, std::int64_t k, const std::byte* x, float* out) {
  const candidates::Activations row(x, k);
  const std::int64_t bytes = k / Block::elements * Block::bytes, together = candidates::rows_of_line,
                     far = n / together / panels * together;
  for (std::int64_t j = 0; j < far; j += together)
    candidates::interleaved_dots<Block, 1, panels>(reinterpret_cast<const std::uint8_t*>(w) + j * bytes, far * bytes,
                                                   &row, k, out + j, n, far, ahead);
}
#endif

}  // namespace HWY_NAMESPACE

namespace {

using namespace HWY_NAMESPACE;  // NOLINT: the one that this file is compiled for

using Kernel = void (*)(const std::byte*, std::int64_t, std::int64_t, const std::byte*, float*);

struct Candidate {
  std::string name;
  DType dtype;
  Kernel kernel;
  bool chosen;
  std::vector<double> times{};
};

double seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T, int streams, int ahead, bool far>
void add_floats(std::vector<Candidate>& all, DType dtype) {
  constexpr Reading how{streams, ahead, far};
  const Reading now = reading<T>(1, cores());
  all.push_back({fmt::format("{}, {} rows {}, {} ahead", encoding_of(dtype).name, streams, far ? "far" : "near", ahead),
                 dtype, read_floats<T, how>,
                 how.streams == now.streams && how.ahead == now.ahead && how.far == now.far});
}

template <class T>
void add_type(std::vector<Candidate>& all, DType dtype) {
  add_floats<T, 8, 1024, true>(all, dtype);
  add_floats<T, 8, 0, true>(all, dtype);
  add_floats<T, 8, 4096, true>(all, dtype);
  add_floats<T, 4, 0, true>(all, dtype);
  add_floats<T, 4, 1024, true>(all, dtype);
  add_floats<T, 4, 2048, true>(all, dtype);
  add_floats<T, 4, 4096, true>(all, dtype);
  add_floats<T, 2, 1024, true>(all, dtype);
  add_floats<T, 2, 4096, true>(all, dtype);
  add_floats<T, 1, 0, false>(all, dtype);
  add_floats<T, 1, 1024, false>(all, dtype);
  add_floats<T, 1, 4096, false>(all, dtype);
  add_floats<T, 1, 8192, false>(all, dtype);
  add_floats<T, 1, 16384, false>(all, dtype);
  add_floats<T, 2, 0, false>(all, dtype);
  add_floats<T, 2, 4096, false>(all, dtype);
  add_floats<T, 4, 0, false>(all, dtype);
  add_floats<T, 4, 1024, false>(all, dtype);
  add_floats<T, 4, 2048, false>(all, dtype);
  add_floats<T, 4, 4096, false>(all, dtype);
  add_floats<T, 8, 2048, false>(all, dtype);
  add_floats<T, 8, 4096, false>(all, dtype);
}

#if HWY_TARGET != HWY_SCALAR
template <class Block>
void add_blocks(std::vector<Candidate>& all, DType dtype) {
  const bool interleaved = want_interleaved(dtype);
  const auto add_rows = [&](int ahead, Kernel kernel) {
    all.push_back({fmt::format("{}, as in the file, {} ahead", encoding_of(dtype).name, ahead), dtype, kernel,
                   !interleaved && ahead == candidates::quantised_ahead});
  };
  add_rows(0, read_rows<Block, 0>);
  add_rows(2048, read_rows<Block, 2048>);
  add_rows(4096, read_rows<Block, 4096>);
#if RECKON_WIDE
  if constexpr (candidates::Interleaved<Block>::there) {
    const candidates::InterleavedReading now = candidates::interleaved_reading<Block>();
    const auto add_panels = [&](int panels, int ahead, Kernel kernel) {
      all.push_back({fmt::format("{}, interleaved, {} panels, {} ahead", encoding_of(dtype).name, panels, ahead), dtype,
                     kernel, interleaved && panels == now.panels && ahead == now.ahead});
    };
    add_panels(1, 0, read_interleaved<Block, 1, 0>);
    add_panels(1, 2048, read_interleaved<Block, 1, 2048>);
    add_panels(1, 4096, read_interleaved<Block, 1, 4096>);
    add_panels(1, 8192, read_interleaved<Block, 1, 8192>);
    add_panels(1, 16384, read_interleaved<Block, 1, 16384>);
    add_panels(2, 0, read_interleaved<Block, 2, 0>);
    add_panels(2, 1024, read_interleaved<Block, 2, 1024>);
    add_panels(2, 2048, read_interleaved<Block, 2, 2048>);
    add_panels(2, 4096, read_interleaved<Block, 2, 4096>);
  }
#endif
}
#endif

volatile float sink;

// Bytes that no encoding takes for an infinite or tiny scale.
void fill(std::byte* to, std::int64_t bytes) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < bytes; ++i) {
    state = state * 1664525 + 1013904223;
    to[i] = static_cast<std::byte>((state >> 24 & 0x0f) | 0x30);
  }
}

void few_rows_table(Pool& pool, int rounds, std::int64_t k) {
  constexpr std::int64_t total = std::int64_t{256} << 20;
  const HostBuffer memory(total + (1 << 16), Fill::nothing);
  std::byte* const w = memory.at(0, total);
  fill(w, total + (1 << 16));
  const HostBuffer activations(8 * k);
  auto* x = reinterpret_cast<float*>(activations.at(0, 8 * k));
  std::fill_n(x, k, 0.01f);
  std::vector<std::byte> x8(static_cast<std::size_t>(row_bytes(DType::activation8, k)));
  quantise_row(x, k, x8.data());
  std::vector<Candidate> all;
  add_type<float>(all, DType::float32);
  add_type<hwy::bfloat16_t>(all, DType::bfloat16);
  add_type<hwy::float16_t>(all, DType::float16);
#if HWY_TARGET != HWY_SCALAR
  using namespace candidates;  // NOLINT
  add_blocks<Q8_0>(all, DType::q8_0);
  add_blocks<Q4_0>(all, DType::q4_0);
  add_blocks<Q4_K>(all, DType::q4_k);
  add_blocks<Q6_K>(all, DType::q6_k);
  add_blocks<Mxfp4>(all, DType::mxfp4);
  add_blocks<Q5_K>(all, DType::q5_k);
  add_blocks<Q4_1>(all, DType::q4_1);
#endif
  // Tiles as products are cut: some 128 KiB of whole rows.
  const auto run = [&](const Candidate& candidate) {
    const std::int64_t bytes = row_bytes(candidate.dtype, k),
                       rows = std::max<std::int64_t>(8, 131072 / bytes / 24 * 24);
    pool.run(total / (rows * bytes), [&](std::int64_t tile, int) {
      std::vector<float> out(static_cast<std::size_t>(rows));
      const bool floats = !is_quantised(candidate.dtype);
      candidate.kernel(w + tile * rows * bytes, rows, k, floats ? reinterpret_cast<const std::byte*>(x) : x8.data(),
                       out.data());
      sink = out[0];
    });
  };
  std::vector<double> limits;
  for (int round = 0; round < rounds; ++round) {
    const std::span<const std::byte> range(w, static_cast<std::size_t>(total));
    limits.push_back(measure_read_limit(pool, {&range, 1}));
    for (Candidate& candidate : all) candidate.times.push_back(seconds([&] { run(candidate); }));
  }
  const double limit = median(limits), best_limit = *std::max_element(limits.begin(), limits.end());
  fmt::print("one row, {} threads, {} columns: median and best of {} rounds; the read limit is {:.1f} GB/s, {:.1f}\n",
             pool.threads(), k, rounds, limit / 1e9, best_limit / 1e9);
  for (const Candidate& candidate : all) {
    const double rate = static_cast<double>(total) / median(candidate.times);
    const double best = static_cast<double>(total) / *std::min_element(candidate.times.begin(), candidate.times.end());
    fmt::print("{} {:44} {:6.1f} GB/s {:5.1f}%   {:6.1f} GB/s {:5.1f}%\n", candidate.chosen ? '*' : ' ', candidate.name,
               rate / 1e9, 100 * rate / limit, best / 1e9, 100 * best / best_limit);
  }
}

void many_rows_table(Pool& pool, int rounds, std::int64_t k) {
  constexpr std::int64_t m = 512, n = 768;
  Scratch scratch(pool.threads());
  Counters counters(pool.threads());
  Machine machine{pool, scratch, counters};
  std::vector<float> x(static_cast<std::size_t>(m * k), 0.01f), y(static_cast<std::size_t>(m * n));
  std::vector<std::byte> x8(static_cast<std::size_t>(row_bytes(DType::activation8, m * k))),
      w(static_cast<std::size_t>(4 * n * k));
  fill(w.data(), std::ssize(w));
  for (std::int64_t i = 0; i < m; ++i)
    quantise_row(x.data() + i * k, k, x8.data() + row_bytes(DType::activation8, i * k));
  fmt::print("{} rows, {} threads, {} x {}, medians of {} rounds\n", m, pool.threads(), n, k, rounds);
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k,
                            DType::mxfp4, DType::q5_k}) {
    for (const bool interleaved : {false, true}) {
      if (interleaved && !(is_quantised(dtype) && want_interleaved(dtype))) continue;
      Product product{};
      product.rows = m;
      product.x_stride = k;
      product.y = y.data();
      product.y_stride = n;
      product.weight = {w.data(), dtype, n, k, k, 1, 0, 0, interleaved};
      if (is_quantised(dtype))
        product.x8 = x8.data();
      else
        product.x = x.data();
      std::vector<double> times;
      for (int round = 0; round < rounds; ++round)
        times.push_back(seconds([&] { run_products(machine, {&product, 1}); }));
      const double work = 2e-9 * m * n * static_cast<double>(k);
      fmt::print("  {:44} {:6.1f} GFLOP/s   {:6.1f}\n",
                 fmt::format("{}{}", encoding_of(dtype).name, interleaved ? ", interleaved" : ""), work / median(times),
                 work / *std::min_element(times.begin(), times.end()));
    }
  }
}

}  // namespace
}  // namespace reckon
HWY_AFTER_NAMESPACE();

int main(int count, char** arguments) {
  using namespace reckon;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
  const std::int64_t k = count > 2 ? std::atoi(arguments[2]) : 2048;
  const int only = count > 3 ? std::atoi(arguments[3]) : 0;
  for (const int threads : only ? std::vector{only} : std::vector{1, 2}) {
    Pool pool(threads);
    few_rows_table(pool, rounds, k);
    many_rows_table(pool, rounds, k);
  }
}
