// The loop of a training run: batches, steps, evaluation, checkpoints, metrics. It shows nothing itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/data.h"
#include "train/metrics.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace reckon {

struct StepReport {
  std::int64_t step = 0, steps = 0;
  double loss = 0, learning_rate = 0, gradient_norm = 0;  // the norm before clipping
  double tokens_per_second = 0, flops_per_second = 0;     // of this step; logical matrix products, causality exact
  double seconds = 0;                                     // of the run so far
};

struct EvaluationReport {
  std::int64_t step = 0;
  double loss = 0;
  bool best = false;
};

// All may be empty.
struct LoopEvents {
  std::function<void(const StepReport&)> step;
  std::function<void(const EvaluationReport&)> evaluation;
  std::function<void(std::int64_t step, const std::filesystem::path& folder)> saved;
  std::function<std::string(std::int64_t step)> sample;  // generates a text, which goes into the metrics
  std::function<void(std::int64_t step, const std::string& text)> sampled;
};

class Loop {
 public:
  // `run` and `metrics` are those of rank 0; other ranks of the trainer have none.
  Loop(Trainer& trainer, const Dataset& data, Identity identity, Progress progress, RunFolder* run,
       MetricsFile* metrics, LoopEvents events);

  // Steps until so many seconds are over, at least one; to the last step, or until the trainer is cancelled (of several
  // ranks, one is enough). True: the last one is done. A step that was going on is given up, or done where there are
  // several ranks. A loss or gradient that is not finite is an Error that says where, and so is a checkpoint that
  // cannot be written; the checkpoints that are there stay.
  bool advance(double seconds);
  // The same without an end in time; the state that is left is saved.
  bool run();
  // Writes a checkpoint, and returns its folder.
  const std::filesystem::path& save();

  // The schedule's peak from the next step on, and its least rate in proportion: settings of the run like others.
  void set_peak(double learning_rate);

  const Progress& progress() const { return progress_; }
  const Settings& settings() const { return identity_.settings; }
  double step_flops() const { return step_flops_; }

 private:
  bool cancelled() const;
  bool step();  // false: it was given up
  void evaluate();
  void sample();
  void log_layers();
  void log_statistics();
  [[noreturn]] void stop_not_finite(double loss);

  Trainer& trainer_;
  const Dataset& data_;
  Identity identity_;
  Progress progress_;
  RunFolder* run_;
  MetricsFile* metrics_;
  LoopEvents events_;
  bool stop_ = false;  // a rank was cancelled, which all know
  double step_flops_ = 0;
  std::int64_t saved_step_ = -1;
  std::filesystem::path saved_;             // the last checkpoint
  std::vector<std::int32_t> ids_, labels_;  // of a step: micro-steps × batch × context
};

// The mean loss over the first `windows` windows of the held-out part (rounded up to whole batches); 0: all of it.
// Several ranks take batches in turn, and all know the result.
double validation_loss(Trainer& trainer, const Dataset& data, std::int64_t windows = 0);

}  // namespace reckon
