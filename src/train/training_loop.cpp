#include "train/training_loop.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "files/checked.h"
#include "files/numbers.h"
#include "train/statistics.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

// "layer 3", "final_norm"
std::string part_of(Scope scope) {
  return scope.layer >= 0 ? "layer " + std::to_string(scope.layer) : path_of({scope.role.block});
}

}  // namespace

double validation_loss(Trainer& trainer, const Dataset& data, std::int64_t windows) {
  const std::int64_t batch = trainer.options().batch, all = data.validation_windows();
  windows = windows > 0 ? std::min(windows, all) : all;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * trainer.options().tokens)), labels(ids.size());
  Communicator* ranks = trainer.ranks();
  const std::int64_t rank = ranks != nullptr ? ranks->rank() : 0, size = ranks != nullptr ? ranks->size() : 1;
  double totals[2] = {};  // of losses, of labels
  for (std::int64_t first = rank * batch; first < windows; first += size * batch) {
    const auto labelled = static_cast<double>(data.validation(first, batch, ids.data(), labels.data()));
    totals[0] += trainer.loss(ids, labels) * labelled;
    totals[1] += labelled;
  }
  if (ranks != nullptr) ranks->sum(totals);
  return totals[0] / totals[1];
}

Loop::Loop(Trainer& trainer, const Dataset& data, Identity identity, Progress progress, RunFolder* run,
           MetricsFile* metrics, LoopEvents events)
    : trainer_(trainer),
      data_(data),
      identity_(std::move(identity)),
      progress_(progress),
      run_(run),
      metrics_(metrics),
      events_(std::move(events)) {
  const Settings& settings = identity_.settings;
  Workload workload = workload_of(Phase::train);
  workload.batch = settings.batch;
  workload.tokens = settings.context;
  workload.causal = Causal::exact;
  step_flops_ = static_cast<double>(count(trainer.model(), workload).total().matmul) *
                static_cast<double>(settings.accumulate * settings.ranks);
  const char* const what = "the number of tokens of a step";
  const std::int64_t tokens = checked_multiply(settings.batch, settings.context, what);
  ids_.resize(memory_size(checked_multiply(settings.accumulate, tokens, what), what));
  labels_.resize(ids_.size());
  if (run_ != nullptr && progress_.step > 0) {
    for (const SavedStep& saved : saved_steps(run_->path())) {
      if (saved.step == progress_.step) saved_ = saved.folder;
    }
    saved_step_ = progress_.step;
  }
}

bool Loop::run() {
  const bool done = advance(HUGE_VAL);
  if (run_ != nullptr && saved_step_ != progress_.step) save();
  return done;
}

bool Loop::advance(double seconds) {
  const Settings& settings = identity_.settings;
  const double before = progress_.seconds;
  const Clock::time_point began = Clock::now();
  const bool alone = trainer_.ranks() == nullptr;
  while (progress_.step < settings.schedule.steps && !(alone ? cancelled() : stop_)) {
    if (!step()) break;
    progress_.seconds = before + seconds_since(began);
    const bool last = progress_.step == settings.schedule.steps;
    bool best = false;
    if (last || due(progress_.step, settings.eval_every)) {
      evaluate();
      best = progress_.best_step == progress_.step;
    }
    if (last || due(progress_.step, settings.sample_every)) sample();
    progress_.seconds = before + seconds_since(began);
    if (last || best || due(progress_.step, settings.save_every)) save();
    if (seconds_since(began) >= seconds) break;
  }
  return progress_.step >= settings.schedule.steps;
}

bool Loop::cancelled() const {
  const std::atomic<bool>* flag = trainer_.options().cancel;
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

bool Loop::step() {
  const Settings& settings = identity_.settings;
  const Clock::time_point begin = Clock::now();
  DataPosition position = progress_.data;
  for (std::int64_t index = 0; index < settings.accumulate; ++index) {
    const std::int64_t at = index * settings.batch * settings.context;
    data_.next(position, settings.batch, ids_.data() + at, labels_.data() + at);
  }
  double loss = 0;
  try {
    loss = trainer_.compute_gradient(ids_, labels_);
  } catch (const Cancelled&) {
    return false;
  }
  if (Communicator* ranks = trainer_.ranks()) {
    double stops = cancelled() ? 1 : 0;
    ranks->sum({&stops, 1});
    stop_ = stops > 0;
  }
  if (!std::isfinite(loss)) stop_not_finite(loss);

  const double rate = learning_rate(settings.schedule, progress_.step);
  const double norm =
      trainer_.update({rate, settings.beta1, settings.beta2, settings.epsilon, settings.decay, settings.clip});
  if (!std::isfinite(norm)) stop_not_finite(loss);
  progress_.data = position;
  progress_.loss = loss;
  ++progress_.step;

  const double taken = seconds_since(begin);
  const double tokens = static_cast<double>(settings.ranks) * static_cast<double>(ids_.size());
  progress_.seconds += taken;
  const StepReport report{progress_.step,      settings.schedule.steps, loss, rate, norm, tokens / taken,
                          step_flops_ / taken, progress_.seconds};
  if (metrics_ != nullptr) {
    metrics_->add({{"kind", "step"},
                   {"step", report.step},
                   {"loss", loss},
                   {"lr", rate},
                   {"gradient_norm", norm},
                   {"tokens_per_second", report.tokens_per_second},
                   {"gflops_per_second", report.flops_per_second / 1e9},
                   {"seconds", report.seconds}});
    if (due(progress_.step, settings.layers_every)) log_layers();
  }
  if (events_.step) events_.step(report);
  return true;
}

// The norms of each layer: how large its gradient is, and how far the step moved it.
void Loop::log_layers() {
  std::vector<std::string> order;
  std::map<std::string, Squares> sums;
  for (const TrainedTensor& tensor : trainer_.tensors()) {
    const std::string part = part_of(tensor.key.scope);
    const auto [entry, first] = sums.try_emplace(part);
    if (first) order.push_back(part);
    entry->second += tensor.squares;
  }
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const std::string& part : order) {
    const Squares& squares = sums[part];
    parts.push_back({{"part", part},
                     {"gradient_norm", std::sqrt(squares.gradient)},
                     {"update_norm", std::sqrt(squares.update)},
                     {"weight_norm", std::sqrt(squares.weight)}});
  }
  metrics_->add({{"kind", "layers"}, {"step", progress_.step}, {"parts", parts}});
}

// What goes on inside, on the last micro-step's batch.
void Loop::log_statistics() {
  const auto size = static_cast<std::size_t>(identity_.settings.batch * identity_.settings.context);
  trainer_.loss(std::span(ids_).last(size), std::span(labels_).last(size));
  nlohmann::ordered_json activations = nlohmann::ordered_json::array(), attention = activations;
  for (const LayerStatistics& layer : layer_statistics(trainer_)) {
    if (layer.rms > 0) {
      activations.push_back({{"part", fmt::format("layer {}", layer.layer)},
                             {"root_mean_square", layer.rms},
                             {"largest", layer.largest}});
    }
    if (!layer.head_entropy.empty()) {
      attention.push_back({{"layer", layer.layer}, {"entropy", layer.head_entropy}});
    }
  }
  metrics_->add(
      {{"kind", "statistics"}, {"step", progress_.step}, {"activations", activations}, {"attention", attention}});
}

void Loop::evaluate() {
  if (metrics_ != nullptr) log_statistics();
  if (data_.validation_windows() == 0) return;
  const double loss = validation_loss(trainer_, data_, identity_.settings.eval_windows);
  progress_.validation = loss;
  const bool best = std::isfinite(loss) && (!progress_.best_validation || loss < *progress_.best_validation);
  if (best) {
    progress_.best_validation = loss;
    progress_.best_step = progress_.step;
  }
  if (metrics_ != nullptr) metrics_->add({{"kind", "evaluation"}, {"step", progress_.step}, {"loss", loss}});
  if (events_.evaluation) events_.evaluation({progress_.step, loss, best});
}

void Loop::sample() {
  if (!events_.sample) return;
  const std::string text = events_.sample(progress_.step);
  if (metrics_ != nullptr) metrics_->add({{"kind", "sample"}, {"step", progress_.step}, {"text", text}});
  if (events_.sampled) events_.sampled(progress_.step, text);
}

const fs::path& Loop::save() {
  if (run_ == nullptr) return saved_;
  // Lines first: a checkpoint never knows of a step that the metrics do not.
  try {
    metrics_->flush();
    saved_ = write_checkpoint(*run_, trainer_, identity_, progress_);
  } catch (const Error& error) {
    throw Error(fmt::format("step {} could not be saved: {}; {}", grouped(progress_.step), error.what(),
                            saved_.empty() ? "there is no checkpoint yet" : saved_.string() + " is whole"));
  }
  saved_step_ = progress_.step;
  run_->prune(identity_.settings.keep, progress_.best_step);
  if (events_.saved) events_.saved(progress_.step, saved_);
  return saved_;
}

void Loop::set_peak(double learning_rate) {
  Settings changed = identity_.settings;
  changed.schedule.least *= learning_rate / changed.schedule.peak;
  changed.schedule.peak = learning_rate;
  validate(changed);
  identity_.settings = std::move(changed);
}

void Loop::stop_not_finite(double loss) {
  const auto first = [&](Trainer::What what) {
    for (const TrainedTensor& tensor : trainer_.tensors()) {
      const std::vector<float> values = trainer_.values(tensor, what);
      if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
        return tensor.name;
    }
    return std::string();
  };
  std::string what = std::isfinite(loss) ? "the gradient" : fmt::format("the loss is {} and the gradient", loss);
  if (const std::string weight = first(&TrainedTensor::weight); !weight.empty()) {
    what = fmt::format("{} is not finite, for the weights of {} are not", what, weight);
  } else if (const std::string gradient = first(&TrainedTensor::gradient); !gradient.empty()) {
    what = fmt::format("{} is not finite, first in {}", what, gradient);
  } else {
    what = fmt::format("the loss is {} and the norm of the gradient is not finite", loss);
  }
  if (metrics_ != nullptr) metrics_->flush();
  throw Error(fmt::format(
      "step {}: {}; {}", grouped(progress_.step + 1), what,
      saved_.empty() ? "there is no checkpoint before it" : "the last good checkpoint is " + saved_.string()));
}

}  // namespace reckon
