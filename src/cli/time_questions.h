// What else `time` is asked: how much to train, and how well a run that was measured used its devices.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/options.h"
#include "cli/predict_options.h"
#include "report/document.h"
#include "time/estimate.h"

namespace reckon::cli {

struct TimeQuestions {
  bool compute_optimal = false;
  std::optional<std::int64_t> inference_tokens;
  std::optional<double> measured;  // seconds of a step
  std::optional<double> rate;      // tokens/s
};

// --compute-optimal, --inference-tokens, --measured and --rate
void add_questions(CLI::App& command, TimeQuestions& questions);

// Options that do not go together are a UsageError.
void check_questions(const TimeQuestions& questions, Phase phase);

// The report of a run that was measured.
Document measured_document(const TimeQuestions& questions, const Prediction& prediction);

// Adds what scaling laws say to a report of `step`; `tokens`: what is trained on anyway.
void add_compute_optimal(Document& document, const TimeQuestions& questions, const Model& model, const Estimate& step,
                         std::optional<double> tokens, std::optional<double> usd_per_hour);

}  // namespace reckon::cli
