#include "train/verify.h"

#include "compile/compile.h"
#include "count/ledger.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>

namespace reckon {
namespace {

// Of the gradients, each as far as it was written to; the memory between them is nobody's.
std::int64_t gradients_touched(Trainer& trainer) {
  std::int64_t sum = 0;
  const Arena& arena = trainer.gradients();
  for (const TrainedTensor& tensor : trainer.tensors()) {
    sum += arena.touched(arena.offset(tensor.gradient.data()), static_cast<std::int64_t>(tensor.gradient.size_bytes()));
  }
  return sum;
}

}  // namespace

Verification verify_step(const Model& model, Weights weights, const VerifyStepOptions& options) {
  Verification result;
  Inspection inspection(options.sabotage);
  TrainerOptions trainer_options;
  trainer_options.threads = options.threads;
  trainer_options.batch = options.batch;
  trainer_options.tokens = options.tokens > 0 ? options.tokens : std::min<std::int64_t>(512, model.context);
  trainer_options.precision = options.precision;
  trainer_options.cancel = options.cancel;
  trainer_options.inspection = &inspection;
  Trainer trainer(model, std::move(weights), trainer_options);
  const std::int64_t tokens = trainer_options.tokens;
  const std::vector<std::int32_t> ids = verify_ids(model, options.batch * (tokens + 1), options.seed);
  const auto count = static_cast<std::size_t>(options.batch * tokens);

  const auto begin = std::chrono::steady_clock::now();
  trainer.compute_gradient(std::span(ids).first(count), std::span(ids).last(count));
  trainer.update({});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  result.times.push_back({"train", tokens, taken.count() - inspection.seconds()});

  const Executor& executor = trainer.executor();
  const Plan& plan = executor.plan();
  const Ledger lowered = read_ledger(executor.program());
  const Ledger headline = read_ledger(logical_program(model, executor.program().workload));
  result.checks.push_back({"parameters", "", headline.parameter_totals.total, lowered.parameter_totals.total,
                           trainer.weights().elements(), MeasuredBy::taken});
  result.checks.push_back(
      {"weight bytes", "B", headline.state.weights, plan.weights, trainer.weights().bytes(), MeasuredBy::taken});
  result.checks.push_back(
      {"gradients", "B", headline.state.gradients, plan.gradients, gradients_touched(trainer), MeasuredBy::touched});
  // Moments, and the wide masters of narrow weights.
  std::int64_t kept = 0;
  for (const TrainedTensor& tensor : trainer.tensors()) {
    kept += static_cast<std::int64_t>(tensor.first_moment.size_bytes() + tensor.second_moment.size_bytes());
    if (trainer.weights()[tensor.key].dtype != DType::float32)
      kept += static_cast<std::int64_t>(tensor.weight.size_bytes());
  }
  result.checks.push_back({"optimizer state", "B", headline.state.moments, plan.optimizer, kept, MeasuredBy::taken});
  for (const auto& [name, stage] : {std::pair("forward", Stage::forward), std::pair("backward", Stage::backward),
                                    std::pair("optimizer", Stage::optimizer)})
    add_work(result, name, work_of(headline, stage), work_of(lowered, stage), inspection.done(stage));
  add_arena(result, "step", executor);
  add_differences(result, "train", headline, lowered);
  if (!trainer.gradients().fences_hold()) inspection.add("something was written before or behind the gradients");
  result.findings.insert(result.findings.begin(), inspection.findings().begin(), inspection.findings().end());
  result.scratch_bytes = static_cast<std::int64_t>(scratch_bytes(trainer.options().threads));
  result.peak_rss = peak_resident_bytes();
  return result;
}

}  // namespace reckon
