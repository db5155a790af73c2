// Whole networks against limits measured in the same run, interleaved: GPT-2 from a file in the page cache.
//   prefill  512 tokens, beside OpenBLAS' own rate on 1024 × 3072 × 768 with as many threads
//   first    `reckon generate` from its start to its first token, less the prefill: the limit is 0.2 s
//   decode   past 32 to 160, beside a loop that only reads as many bytes in huge pages, best of 1, 2 and 4 streams
// Usage: bench_run FOLDER [rounds]: FOLDER holds the weights, made if missing. Prints the rows of a Markdown table.
#include <fmt/format.h>
#include <reckon/reckon.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/backend.h"
#include "measure.h"
#include "model/presets.h"
#include "run/engine.h"
#include "run/save.h"
#include "threads/thread_count.h"

namespace {

using namespace reckon;

// Memory that a loop reads as fast as this machine can.
class HugePages {
 public:
  explicit HugePages(std::size_t bytes) : count_(bytes / sizeof(float)) {
    constexpr std::size_t huge = 2 << 20;
    void* memory = ::mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(1);
    data_ = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory) + huge - 1) / huge * huge);
    ::madvise(data_, bytes, MADV_HUGEPAGE);
    std::fill(data_, data_ + count_, 0.5f);
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(data_, count_)); }

 private:
  std::size_t count_;
  float* data_;
};

Model prepared(const std::string& folder, DType dtype) {
  const Model preset = load_model("gpt2");
  if (!std::filesystem::exists(folder + "/model.safetensors")) {
    for (const Preset& p : presets()) {
      if (p.name == "gpt2") save_checkpoint(preset, Weights::random(preset, 1, dtype), std::string(p.config), folder);
    }
  }
  return load_model(folder);
}

// Seconds from the start of `reckon generate` to its first token, without the prefill that it reports itself.
double first_token_overhead(const std::string& folder, const std::vector<std::int32_t>& prompt, int threads) {
  const std::string command =
      fmt::format("{} generate {} --ids {} --tokens 1 --temperature 0 --threads {} --format json 2>/dev/null",
                  RECKON_PROGRAM, folder, fmt::join(prompt, ","), threads);
  std::string answer(1 << 20, '\0');
  const auto begin = std::chrono::steady_clock::now();
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) std::exit(1);
  answer[0] = static_cast<char>(std::fgetc(pipe));  // the report is written once the token is there
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer.resize(1 + std::fread(answer.data() + 1, 1, answer.size() - 1, pipe));
  if (::pclose(pipe) != 0) std::exit(1);
  return taken - nlohmann::json::parse(answer)["prefill"]["seconds"].get<double>();
}

struct Rates {
  std::vector<double> ours, limit;
};

void print(const std::string& what, int threads, const std::string& unit, const Rates& row, double scale, double work) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.ours.size(); ++i) ratios.push_back(row.ours[i] * work / row.limit[i]);
  fmt::print("| {} | {} | {:.1f} {} | {:.1f} | {:.1f} | {:.0f}% |\n", what, threads, median(row.ours), unit,
             median(row.ours) * work * scale, median(row.limit) * scale, 100 * median(ratios));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const std::string base = arguments[1];
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 5;
  const int most = thread_count(0);
  const HugePages memory(std::size_t{512} << 20);
  const std::span<const std::byte> stretches[] = {memory.bytes()};
  std::vector<std::int32_t> prompt(512);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i * 7919 % 50257);

  for (int threads = 1; threads <= most; threads *= 2) {
    Pool pool(threads);
    double float32_prefill = 0;  // tokens/s
    for (const auto& [dtype, word] :
         {std::pair{DType::float32, "float32"}, {DType::bfloat16, "bfloat16"}, {DType::float16, "float16"}}) {
      const std::string folder = fmt::format("{}/gpt2-{}", base, word);
      const Model model = prepared(folder, dtype);
      EngineOptions options;
      options.threads = threads;
      options.capacity = 1024;
      Engine engine(model, Weights::load(model, folder), options);
      Workload workload = workload_of(Phase::prefill);
      workload.tokens = 512;
      workload.causal = Causal::exact;
      const double flops = static_cast<double>(reckon::count(model, workload).total().matmul) / 512;
      const auto bytes = static_cast<double>(engine.core().weights().bytes());
      Rates prefill, decode;
      std::vector<double> overheads;
      for (int round = 0; round < rounds; ++round) {
        if (dtype != DType::float16) {
          prefill.limit.push_back(sgemm_rate(threads, 4));
          Session session = engine.session();
          prefill.ours.push_back(512 / seconds([&] { session.run(prompt, Logits::last); }));
        }
        if (dtype == DType::float32) overheads.push_back(first_token_overhead(folder, prompt, threads));
        Session session = engine.session();
        session.run({prompt.data(), 32}, Logits::last);
        double taken = 0, reading = 0;  // in turns of a few tokens, so that both meet the same neighbours
        for (int turn = 0; turn < 16; ++turn) {
          reading += 1 / measure_read_limit(pool, stretches);
          taken += seconds([&] {
            for (int i = 0; i < 8; ++i) session.run({prompt.data(), 1}, Logits::last);
          });
        }
        decode.ours.push_back(128 / taken);
        decode.limit.push_back(16 / reading);
      }
      if (dtype != DType::float16)
        print(fmt::format("prefill of 512 tokens, {} (GFLOP/s)", word), threads, "tokens/s", prefill, 1e-9, flops);
      if (dtype == DType::float32) {
        float32_prefill = median(prefill.ours);
        constexpr double limit = 0.2;
        fmt::print(
            "| from the start of `reckon generate` to its first token, less the prefill, float32 (s) | {} | {:.3f} | | "
            "{} | {:.0f}% |\n",
            threads, median(overheads), limit, 100 * median(overheads) / limit);
      }
      if (dtype == DType::bfloat16)
        fmt::print("| prefill of 512 tokens, bfloat16 | {} | {:.2f} times the tokens/s of float32 | | | |\n", threads,
                   median(prefill.ours) / float32_prefill);
      print(fmt::format("decode, {} (GB/s)", word), threads, "tokens/s", decode, 1e-9, bytes);
      if (dtype == DType::float16) continue;

      options.sessions = 8;
      Engine eight(model, Weights::load(model, folder), options);
      const std::vector<std::int32_t> beginning(32, 5), next(1, 7);
      std::vector<double> speedups;
      for (int round = 0; round < rounds; ++round) {
        Session session = engine.session();
        session.run({prompt.data(), 32}, Logits::last);
        std::vector<Session> sessions;
        std::vector<Engine::Part> parts;
        for (int i = 0; i < 8; ++i) sessions.push_back(eight.session());
        for (Session& each : sessions) {
          each.run(beginning, Logits::last);
          parts.push_back({each, next});
        }
        const double one = seconds([&] {
          for (int i = 0; i < 32; ++i) session.run({prompt.data(), 1}, Logits::last);
        });
        const double all = seconds([&] {
          for (int i = 0; i < 32; ++i) eight.step(parts);
        });
        speedups.push_back(8 * one / all);
      }
      fmt::print("| decode, {}, batch 8 | {} | {:.2f} times the tokens/s of batch 1 | | | |\n", word, threads,
                 median(speedups));
    }
  }
}
