#include "train/verify_step.h"

#include "compile/compile.h"
#include "count/ledger.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>

namespace reckon {
namespace {

// Of the gradients, each as far as it was written to; the memory between them is nobody's.
std::int64_t gradients_touched(const Trainer& trainer) {
  std::int64_t sum = 0;
  for (const TrainedTensor& tensor : trainer.tensors())
    sum += tensor.gradient.buffer->touched(tensor.gradient.offset, row_bytes(DType::float32, tensor.elements));
  return sum;
}

}  // namespace

Verification verify_step(const Model& model, Weights weights, const VerifyOptions& options) {
  Verification result;
  Inspection inspection(options.sabotage);
  TrainerOptions trainer_options;
  trainer_options.device = options.device;
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

  const Executable& executable = trainer.executable();
  const Target& target = trainer.backend().target();
  const Plan& plan = executable.plan();
  const Ledger lowered = read_ledger(executable.program());
  const Ledger headline = read_ledger(logical_program(model, executable.program().workload));
  const Weights held = trainer.weights();
  result.checks.push_back({"parameters", "", headline.parameter_totals.total, lowered.parameter_totals.total,
                           held.elements(), MeasuredBy::taken});
  result.checks.push_back({"weight bytes", "B", headline.state.weights, plan.weights, held.bytes(), MeasuredBy::taken});
  result.checks.push_back(
      {"gradients", "B", headline.state.gradients, plan.gradients, gradients_touched(trainer), MeasuredBy::touched});
  // Moments, and the wide masters of narrow weights.
  std::int64_t kept = 0;
  for (const TrainedTensor& tensor : trainer.tensors())
    kept += (tensor.narrow.buffer != nullptr ? 3 : 2) * row_bytes(DType::float32, tensor.elements);
  result.checks.push_back({"optimizer state", "B", headline.state.moments, plan.optimizer, kept, MeasuredBy::taken});
  for (const auto& [name, stage] : {std::pair("forward", Stage::forward), std::pair("backward", Stage::backward),
                                    std::pair("optimizer", Stage::optimizer)})
    add_work(result, name, work_of(headline, stage, target), work_of(lowered, stage, target), inspection.done(stage),
             target);
  add_arena(result, "step", executable);
  add_differences(result, "train", headline, lowered);
  if (!trainer.tensors()[0].gradient.buffer->fences_hold())
    inspection.add("something was written before or behind the gradients");
  result.findings.insert(result.findings.begin(), inspection.findings().begin(), inspection.findings().end());
  result.scratch_bytes = trainer.backend().scratch_bytes();
  result.peak_rss = peak_resident_bytes();
  return result;
}

}  // namespace reckon
