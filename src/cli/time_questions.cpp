#include "cli/time_questions.h"

#include <fmt/format.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>

#include "count/training_amounts.h"
#include "count/utilisation.h"
#include "files/quote.h"
#include "network/forward.h"
#include "report/training_amounts.h"
#include "report/utilisation.h"
#include "time/rates.h"

namespace reckon::cli {
namespace {

constexpr double longest_step = 1e9;   // seconds
constexpr double fastest_rate = 1e15;  // tokens/s

// "1.1", "1.10s", "350ms"
double parse_seconds(const std::string& text) {
  const auto complain = [&]() -> double {
    throw UsageError(fmt::format("--measured is {}; expected the seconds of a step: 1.1, 1.1s or 350ms", quote(text)));
  };
  double value = 0;
  std::size_t end = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    return complain();
  }
  const std::string unit = text.substr(end);
  if (unit == "ms") value /= 1000;
  if ((!unit.empty() && unit != "s" && unit != "ms") || !(value > 0 && value <= longest_step)) return complain();
  return value;
}

}  // namespace

void add_questions(CLI::App& command, TimeQuestions& questions) {
  constexpr const char* training = "Training";
  command
      .add_flag("--compute-optimal", questions.compute_optimal,
                "how much to train by Chinchilla's three approaches and later fits, and what that takes")
      ->group(training);
  const auto tokens = [&questions](const std::string& text) {
    questions.inference_tokens = parse_size(text, "--inference-tokens", {}, Units::amounts);
  };
  command
      .add_option_function<std::string>("--inference-tokens", tokens,
                                        "with --compute-optimal: tokens that the trained model is asked for")
      ->type_name("N")
      ->group(training);
  constexpr const char* measured = "A run that was measured (--batch: all its sequences, or a layout's)";
  command
      .add_option_function<std::string>(
          "--measured", [&questions](const std::string& text) { questions.measured = parse_seconds(text); },
          "seconds of a step: its MFU and HFU, by the program and as publications count")
      ->type_name("SECONDS")
      ->group(measured);
  const auto rate = [&questions](const std::string& text) {
    questions.rate =
        static_cast<double>(parse_size(text, "--rate", {1, static_cast<std::int64_t>(fastest_rate)}, Units::amounts));
  };
  command.add_option_function<std::string>("--rate", rate, "the same by its tokens/s")
      ->type_name("TOKENS")
      ->group(measured);
}

void check_questions(const TimeQuestions& questions, Phase phase) {
  if (questions.measured && questions.rate)
    throw UsageError("--measured and --rate both say how fast a run was; expected one of them");
  if (questions.inference_tokens && !questions.compute_optimal)
    throw UsageError("--inference-tokens is given without --compute-optimal; expected both");
  if (!questions.compute_optimal) return;
  if (phase != Phase::train)
    throw UsageError(fmt::format("--compute-optimal is of a training, and --phase is {}; expected --phase train",
                                 phase_name(phase)));
  if (questions.measured || questions.rate)
    throw UsageError("--compute-optimal is given with a run that was measured; expected one of them");
}

Document measured_document(const TimeQuestions& questions, const Prediction& prediction) {
  const Hardware& hardware = *prediction.hardware;
  Workload workload = prediction.workload;
  workload.batch *= workload.layout.data * workload.layout.micro_batches;
  const double tokens = static_cast<double>(workload.batch) * static_cast<double>(workload.tokens);
  const double seconds = questions.measured ? *questions.measured : tokens / *questions.rate;
  const ComputeType type = Rates(hardware).type_of(workload.precision.activations);
  const double peak = static_cast<double>(hardware.profile.peak.at(type)) * static_cast<double>(hardware.devices);
  return utilisation_document({prediction.model, workload, hardware, type, seconds, tokens / seconds, peak,
                               !prediction.target.fusions.attention},
                              utilisations(prediction.model, workload, prediction.target, seconds, peak));
}

void add_compute_optimal(Document& document, const TimeQuestions& questions, const Model& model, const Estimate& step,
                         std::optional<double> tokens, std::optional<double> usd_per_hour) {
  Workload workload = step.workload;
  workload.layout = {};
  workload.recompute = Recompute::none;
  std::optional<double> inference;
  if (questions.inference_tokens) inference = static_cast<double>(*questions.inference_tokens);
  const TrainingAmounts amounts = training_amounts(count(model, workload), tokens, inference);
  std::vector<TrainingRun> runs;
  for (const TrainingAmount& one : amounts.amounts) runs.push_back(training_run(step, one.tokens, usd_per_hour));
  for (const ServedOptimum& one : amounts.served) runs.push_back(training_run(step, one.tokens, usd_per_hour));
  add_training_amounts(document, amounts, runs);
}

}  // namespace reckon::cli
