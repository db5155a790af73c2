// Dense products of GPT-2's shape against limits measured in the same run, interleaved:
//   decode   the bytes of all weights per second, beside a loop that only reads the same memory
//   prefill  the arithmetic of 512 tokens per second, beside OpenBLAS' own rate on 1024 × 3072 × 768
// Usage: bench_dense [decode|prefill|all] [rounds] [huge|anonymous|FILE] [threads…]
//   One run for each number of threads; without any, for 1 and for all processors.
//   FILE is made if it is missing, and mapped as a model's weights would be; `huge` is memory in huge pages.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "backend/cpu/dense.h"
#include "backend/cpu/read_memory.h"
#include "backend/cpu/tile.h"
#include "threads/thread_count.h"

#if __has_include(<cblas.h>)
#include <cblas.h>
#endif

namespace {

using namespace reckon;

constexpr std::int64_t d = 768, vocabulary = 50257, layers = 12;
constexpr std::size_t huge_page = 2 << 20;

// Wall time; with one thread, the time that it had a processor, so that other programs disturb the figure less.
double seconds(int threads, auto&& body) {
  const auto now = [&] {
    timespec time{};
    ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  body();
  return now() - start;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// So many bytes of weights, in float32 or bfloat16 alike numbers that are neither tiny nor special.
const std::byte* weights(const std::string& where, std::size_t bytes) {
  const std::uint32_t pattern = 0x3c003c00;  // 0.0078 in float32 and bfloat16, 1 in float16
  if (where == "huge" || where == "anonymous") {
    void* memory = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(1);
    auto* begin = reinterpret_cast<std::uint32_t*>((reinterpret_cast<std::uintptr_t>(memory) + huge_page - 1) /
                                                   huge_page * huge_page);
    ::madvise(begin, bytes, where == "huge" ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::fill(begin, begin + bytes / 4, pattern);
    return reinterpret_cast<const std::byte*>(begin);
  }
  const int found = ::open(where.c_str(), O_RDONLY);
  if (found < 0 || ::lseek(found, 0, SEEK_END) < static_cast<off_t>(bytes)) {
    const std::vector<std::uint32_t> piece(1 << 18, pattern);
    std::ofstream file(where, std::ios::binary);
    for (std::size_t i = 0; i < bytes; i += piece.size() * 4)
      file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size() * 4));
  }
  const int file = found < 0 ? ::open(where.c_str(), O_RDONLY) : found;
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) std::exit(1);
  ::madvise(memory, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_READ
  ::madvise(memory, bytes, MADV_POPULATE_READ);
#endif
  return static_cast<const std::byte*>(memory);
}

struct Network {
  DType dtype;
  std::int64_t rows;
  std::vector<float> x, wide, y, logits, bias;
  std::vector<std::vector<Product>> steps;
  std::size_t bytes = 0;

  // The products of one pass, in the order that they are run: `conv` stores them as GPT-2's file does.
  Network(const std::byte* memory, DType type, std::int64_t m, bool conv, bool head, std::int64_t depth = layers)
      : dtype(type), rows(m) {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    x.assign(size(m * d), 0.01f);
    wide.assign(size(m * 4 * d), 0.01f);
    y.assign(size(m * d), 0.01f);
    logits.assign(size(head ? m * vocabulary : 1), 0.0f);
    bias.assign(size(4 * d), 0.5f);
    const auto add = [&](const float* in, std::int64_t n, std::int64_t k, float* out, bool row_major) {
      Product p;
      p.x = in;
      p.rows = m;
      p.x_stride = k;
      p.y = out;
      p.y_stride = n;
      p.weight = {memory + bytes, type, n, k, row_major ? k : 1, row_major ? 1 : n, 0, 0};
      bytes += size(n * k) * (type == DType::float32 ? 4 : 2);
      p.epilogue.bias = n <= 4 * d ? bias.data() : nullptr;
      steps.push_back({p});
    };
    for (std::int64_t layer = 0; layer < depth; ++layer) {
      add(x.data(), 3 * d, d, wide.data(), !conv);
      add(x.data(), d, d, y.data(), !conv);
      steps.back()[0].epilogue.residual = y.data();
      steps.back()[0].epilogue.residual_stride = d;
      add(x.data(), 4 * d, d, wide.data(), !conv);
      steps.back()[0].epilogue.activate = true;
      steps.back()[0].epilogue.activation = Activation::gelu_tanh;
      add(wide.data(), d, 4 * d, y.data(), !conv);
      steps.back()[0].epilogue.residual = y.data();
      steps.back()[0].epilogue.residual_stride = d;
    }
    if (head) add(x.data(), vocabulary, d, logits.data(), true);
  }
};

struct Workshop {
  Pool pool;
  Scratch scratch;
  Counters counters;
  Machine machine{pool, scratch, counters};
  explicit Workshop(int threads) : pool(threads), scratch(threads), counters(threads) {}
  void run(const Network& network) {
    for (const auto& step : network.steps) run_products(machine, step);
  }
};

volatile float sink;

void decode(const std::string& where, int threads, int rounds) {
  Workshop machine(threads);
  const std::size_t total = 520u << 20;
  const std::byte* memory = weights(where, total);
  std::vector<std::pair<std::string, Network>> runs;
  for (const bool conv : {true, false})
    for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t m : {1, 8})
        if (conv || type != DType::float16)
          runs.emplace_back(fmt::format("{} {} batch {}", conv ? "N runs on" : "K runs on",
                                        type == DType::float32    ? "float32"
                                        : type == DType::bfloat16 ? "bfloat16"
                                                                  : "float16",
                                        m),
                            Network(memory, type, m, conv, true));
  const std::size_t bytes = runs[0].second.bytes;
  std::map<std::size_t, std::vector<double>> limit;
  std::vector<std::vector<double>> ours(runs.size());
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t streams : {1, 2, 4})
      limit[streams].push_back(seconds(threads, [&] {
        const std::size_t part = bytes / static_cast<std::size_t>(threads) / 4096 * 4096;
        machine.pool.run(threads, [&](std::int64_t task, int) {
          sink = read_memory(memory + static_cast<std::size_t>(task) * part, part, streams);
        });
      }));
    for (std::size_t i = 0; i < runs.size(); ++i)
      ours[i].push_back(seconds(threads, [&] { machine.run(runs[i].second); }));
  }
  const auto report = [&](const char* name, auto&& pick) {
    double best = 0;
    fmt::print("decode, {} threads, weights in {} memory, {} of {} rounds\n", threads, where, name, rounds);
    for (const auto& [streams, times] : limit) {
      const double rate = static_cast<double>(bytes) / pick(times) / 1e9;
      fmt::print("  limit, {} streams            {:6.1f} GB/s\n", streams, rate);
      best = std::max(best, rate);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double time = pick(ours[i]), rate = static_cast<double>(runs[i].second.bytes) / time / 1e9;
      fmt::print("  {:28} {:6.1f} GB/s  {:5.1f}% of the limit  {:7.1f} tokens/s", runs[i].first, rate,
                 100 * rate / best, static_cast<double>(runs[i].second.rows) / time);
      if (runs[i].second.rows == 8) fmt::print("  {:.2f} times batch 1", 8 * pick(ours[i - 1]) / time);
      fmt::print("\n");
    }
  };
  report("median", [](const std::vector<double>& v) { return median(v); });
  report("best", [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); });
}

void prefill(int threads, int rounds) {
#ifdef OPENBLAS_VERSION
  struct Run {
    std::string name;
    ManyRows kernel;
    Network network;
    std::vector<double> rates, ratios;
  };
  Workshop machine(threads);
  const std::byte* memory = weights("huge", 64u << 20);
  std::vector<Run> runs;
  const std::pair<const char*, ManyRows> kernels[] = {
      {"as chosen", ManyRows::automatic}, {"Highway", ManyRows::highway}, {"OpenBLAS", ManyRows::blas}};
  for (const auto& [kernel, choice] : kernels)
    for (const std::int64_t m : {512, 64, 24, 16})
      for (const bool conv : {true, false})
        for (const DType type : {DType::float32, DType::bfloat16}) {
          if (m < 512 && type != DType::float32) continue;
          if (m == 16 && choice != ManyRows::automatic) continue;
          runs.push_back({fmt::format("{:3} tokens, {} runs on, {:8}, {}", m, conv ? 'N' : 'K',
                                      type == DType::float32 ? "float32" : "bfloat16", kernel),
                          choice,
                          Network(memory, type, m, conv, false, 2),
                          {},
                          {}});
        }
  const std::vector<float> a(1024 * 768, 0.01f), b(768 * 3072, 0.01f);
  std::vector<float> c(1024 * 3072);
  std::vector<double> limits;
  for (int round = 0; round < rounds; ++round)
    for (Run& run : runs) {  // each beside a limit of its own: the processor's clock changes from moment to moment
      openblas_set_num_threads(threads);
      const double limit = 2.0 * 1024 * 3072 * 768 / 1e9 / seconds(threads, [&] {
                             cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1024, 3072, 768, 1, a.data(), 768,
                                         b.data(), 3072, 0, c.data(), 3072);
                           });
      openblas_set_num_threads(1);
      choose_many_rows(run.kernel);
      double flops = 0;
      for (const auto& step : run.network.steps)
        flops += 2.0 * static_cast<double>(step[0].rows * step[0].weight.rows * step[0].weight.cols);
      const double rate = flops / 1e9 / seconds(threads, [&] { machine.run(run.network); });
      limits.push_back(limit);
      run.rates.push_back(rate);
      run.ratios.push_back(rate / limit);
    }
  fmt::print("prefill, {} threads, medians of {} rounds: OpenBLAS' own rate {:.1f} GFLOP/s\n", threads, rounds,
             median(limits));
  for (const Run& run : runs)
    fmt::print("  {:47} {:6.1f} GFLOP/s  {:5.1f}% of it\n", run.name, median(run.rates), 100 * median(run.ratios));
#else
  fmt::print("prefill on {} threads, {} rounds: not measured, OpenBLAS is not there to compare with\n", threads,
             rounds);
#endif
}

}  // namespace

int main(int count, char** arguments) {
#ifdef OPENBLAS_VERSION
  openblas_set_num_threads(1);  // as the program does it: our products use OpenBLAS where it has one
#endif
  const std::string what = count > 1 ? arguments[1] : "all";
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 9;
  const std::string where = count > 3 ? arguments[3] : "huge";
  std::vector<int> runs;
  for (int i = 4; i < count; ++i) runs.push_back(std::atoi(arguments[i]));
  if (runs.empty()) runs = {1};
  if (count <= 4 && thread_count(0) > 1) runs.push_back(thread_count(0));
  for (const int threads : runs) {
    if (threads < 1) return fmt::print(stderr, "bench_dense: expected numbers of threads from 1 on\n"), 2;
    if (what != "prefill") decode(where, threads, rounds);
    if (what != "decode") prefill(threads, rounds);
  }
}
