// A training step against limits measured in the same run, interleaved.
//   gpt2      forward, backward and AdamW in float32, beside OpenBLAS' own rate on 1024 × 3072 × 768
//   mini-gpt  1,000 steps of 8 × 32 tokens, and the share of them that is spent outside kernels
// Usage: bench_train [ROUNDS]                        the rows of a Markdown table
//        bench_train profile                         where the time of a step goes
//        bench_train step BATCH TOKENS THREADS N     the median of N steps of gpt2 in seconds, as a peer prints its own
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "count/ledger.h"
#include "measure.h"
#include "model/load.h"
#include "report/run.h"
#include "threads/thread_count.h"
#include "train/trainer.h"

namespace {

using namespace reckon;

// The matmul FLOPs that the mathematics asks for, pairs counted as causality lets them through.
double step_flops(const Model& model, std::int64_t batch, std::int64_t tokens) {
  Workload workload = workload_of(Phase::train);
  workload.batch = batch;
  workload.tokens = tokens;
  workload.causal = Causal::exact;
  return static_cast<double>(count(model, workload).total().matmul);
}

class Step {
 public:
  Step(const Model& model, std::int64_t batch, std::int64_t tokens, int threads)
      : trainer_(model, Weights::initial(model, Initialisation::gpt2, 1),
                 {.threads = threads, .batch = batch, .tokens = tokens}) {
    for (std::int64_t i = 0; i < batch * tokens; ++i) {
      ids_.push_back(static_cast<std::int32_t>(i * 7919 % model.vocab_size));
      labels_.push_back(static_cast<std::int32_t>((i + 1) * 7919 % model.vocab_size));
    }
  }
  void run() {
    trainer_.compute_gradient(ids_, labels_);
    trainer_.update({});
  }
  Trainer& trainer() { return trainer_; }

 private:
  Trainer trainer_;
  std::vector<std::int32_t> ids_, labels_;
};

// The share of `time` that no kernel ran, in percent.
double outside(const Document& profile, double time) {
  return 100 * (1 - profile.json["seconds"].get<double>() / time);
}

void print_profile(Step& step) {
  step.run();
  RunProfile profile;
  step.trainer().backend().set_profile(&profile);
  const double time = seconds([&] { step.run(); });
  step.trainer().backend().set_profile(nullptr);
  const Document document = profile_document(profile);
  fmt::print("{}step {:.3f} ms, {:.1f}% outside kernels\n", render(document, Format::table, {}), time * 1e3,
             outside(document, time));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "5";
  const int rounds = std::atoi(what.c_str()), all = thread_count(0);
  const Model gpt2 = find_preset("gpt2"), mini = find_preset("mini-gpt");
  struct Shape {
    const Model& model;
    std::int64_t batch, tokens;
  };
  if (what == "step" && argc == 6) {
    Step step(gpt2, std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
    step.run();
    std::vector<double> times;
    for (int i = 0; i < std::atoi(argv[5]); ++i) times.push_back(seconds([&] { step.run(); }));
    fmt::print("{}\n", median(times));
    return 0;
  }
  if (what == "profile") {
    for (const Shape& s : {Shape{gpt2, 1, 1024}, Shape{gpt2, 4, 64}, Shape{mini, 8, 32}}) {
      Step step(s.model, s.batch, s.tokens, all);
      print_profile(step);
    }
    return 0;
  }
  for (int threads : std::set{1, all}) {
    for (const Shape& s : {Shape{gpt2, 1, 1024}, Shape{gpt2, 4, 64}}) {
      Step step(s.model, s.batch, s.tokens, threads);
      step.run();
      std::vector<double> times, limits;
      for (int i = 0; i < rounds; ++i) {
        limits.push_back(sgemm_rate(threads, 8) * 1e-9);
        times.push_back(seconds([&] { step.run(); }));
      }
      const double time = median(times), limit = median(limits);
      const double rate = step_flops(s.model, s.batch, s.tokens) / time * 1e-9;
      fmt::print("| gpt2, {} × {} tokens | {} | {:.0f} tokens/s | {:.1f} GFLOP/s | {:.1f} GFLOP/s | {:.0f}% |\n",
                 s.batch, s.tokens, threads, static_cast<double>(s.batch * s.tokens) / time, rate, limit,
                 100 * rate / limit);
    }
    Step step(mini, 8, 32, threads);
    step.run();
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
      times.push_back(seconds([&] {
        for (int k = 0; k < 1000; ++k) step.run();
      }));
    }
    RunProfile profile;
    step.trainer().backend().set_profile(&profile);
    const double time = seconds([&] {
      for (int k = 0; k < 200; ++k) step.run();
    });
    fmt::print("| mini-gpt, 1,000 steps of 8 × 32 tokens | {} | {:.2f} s | {:.1f}% outside kernels | 6 s | |\n",
               threads, median(times), outside(profile_document(profile), time));
  }
}
