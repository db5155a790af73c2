// A training run, put together: its folder, tokenizer, data and model, the trainer, its metrics and the loop.
#pragma once

#include <reckon/generate.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "processes/communicator.h"
#include "run/limits.h"
#include "train/setup.h"
#include "train/trainer.h"
#include "train/training_loop.h"

namespace reckon {

// What is known before the first step.
struct RunFacts {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t batch = 0, context = 0, accumulate = 1;
  std::int64_t weight_bytes = 0, gradient_bytes = 0, moment_bytes = 0, arena_bytes = 0;
  std::int64_t sent_bytes = 0;  // to other ranks, in a step
};

// Whoever shows a run is told; all may be empty.
struct RunEvents {
  std::function<void(const StepReport&)> step;
  std::function<void(const EvaluationReport&)> evaluation;
  std::function<void(const std::optional<Spread>&)> limit;  // FLOP/s of one large product, each time it is measured
};

class Run {
 public:
  // `folder`: of run_path(); nullptr where another rank has it, which then says where. `ranks`: nullptr: alone.
  Run(const RunRequest& request, RunFolder* folder, Communicator* ranks);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunEvents events;

  // After the last step: the loss over all that is held out, if any is, and the last line of the metrics.
  std::optional<double> finish();

  // A continuation of `prompt`, both as text.
  struct Sampled {
    std::string text;  // without special tokens
    std::vector<std::int32_t> ids;
    std::int64_t prompt_tokens = 0;
    double seconds = 0;
  };
  Sampled sample(const std::string& prompt, const Generation& generation) const;

  const std::filesystem::path& path() const { return path_; }
  const RunFacts& facts() const { return facts_; }
  const nlohmann::ordered_json& first_line() const { return first_line_; }         // that begins the metrics
  const std::vector<nlohmann::ordered_json>& earlier() const { return earlier_; }  // metrics before it was resumed
  const std::string& config() const { return config_; }                            // the text of config.json
  std::int64_t began_at() const { return began_at_; }                              // the step
  bool resumed() const { return checkpoint_.has_value(); }
  const Settings& settings() const { return loop_->settings(); }
  const Dataset& data() const { return *data_; }
  Trainer& trainer() { return *trainer_; }
  const Trainer& trainer() const { return *trainer_; }
  Loop& loop() { return *loop_; }
  const std::string& last_sample() const { return last_sample_; }
  const std::filesystem::path& last_checkpoint() const { return saved_; }

 private:
  void set_up(const RunRequest& request, Prepared& prepared);
  void begin(const RunRequest& request, Identity identity);
  LoopEvents loop_events();

  RunFolder* folder_;
  Communicator* ranks_;
  std::filesystem::path path_, saved_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<Dataset> data_;
  std::optional<Trainer> trainer_;
  std::optional<MetricsFile> metrics_;
  std::optional<Limit> limit_;
  std::optional<Loop> loop_;
  RunFacts facts_;
  nlohmann::ordered_json first_line_;
  std::vector<nlohmann::ordered_json> earlier_;
  std::string config_, last_sample_;
  std::int64_t began_at_ = 0;
};

}  // namespace reckon
