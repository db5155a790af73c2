// reckon time: how long a workload takes on devices, what bounds it, and what a whole training costs.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predict_options.h"
#include "cli/time_questions.h"
#include "files/numbers.h"
#include "report/time.h"
#include "time/estimate.h"

namespace reckon::cli {
namespace {

struct TimeOptions {
  PredictOptions predict;
  std::optional<std::int64_t> tokens_total, steps;
  std::optional<double> price, efficiency;
  TimeQuestions questions;
  bool batches = false, roofline = false;
  std::string svg;
  Output output;
};

// How much is trained on, if that was asked.
std::optional<double> training_tokens(const TimeOptions& asked, const Estimate& step) {
  if (asked.tokens_total && asked.steps)
    throw UsageError("--tokens-total and --steps both say how long to train; expected one of them");
  if ((asked.tokens_total || asked.steps) && step.workload.phase != Phase::train)
    throw UsageError(
        fmt::format("{} is of a training; expected --phase train", asked.steps ? "--steps" : "--tokens-total"));
  if (asked.tokens_total) return static_cast<double>(*asked.tokens_total);
  if (asked.steps) return static_cast<double>(*asked.steps) * step.tokens;
  return std::nullopt;
}

// A run that was measured is not predicted, drawn or paid for.
void refuse_with_measured(const TimeOptions& asked) {
  if (!asked.questions.measured && !asked.questions.rate) return;
  const auto refuse = [&](const char* flag, bool given) {
    if (given)
      throw UsageError(fmt::format("{} is of a prediction, and {} of a run that was measured; expected one of them",
                                   flag, asked.questions.measured ? "--measured" : "--rate"));
  };
  refuse("--batches", asked.batches);
  refuse("--roofline", asked.roofline);
  refuse("--svg", !asked.svg.empty());
  refuse("--efficiency", asked.efficiency.has_value());
  refuse("--network", asked.predict.network.has_value());
  refuse("--tokens-total", asked.tokens_total.has_value());
  refuse("--steps", asked.steps.has_value());
  refuse("--price", asked.price.has_value());
}

void predict(const TimeOptions& asked) {
  if (asked.predict.on.empty())
    throw UsageError("no device is named; expected --on PROFILE[:N], such as --on h100 (`reckon hardware` lists them)");
  if (asked.predict.stage)
    throw UsageError("--stage is given, but a step takes what the slowest stage of its pipeline does; expected none");
  if (asked.efficiency && (asked.roofline || asked.batches || !asked.svg.empty() || asked.predict.network))
    throw UsageError(
        "--efficiency takes the place of the model of efficiency; expected no --batches, --roofline, --svg or "
        "--network with it");
  refuse_with_measured(asked);
  const bool drawing_alone = draws_alone(asked.svg, asked.output);
  check_file(asked.svg);
  Prediction prediction = read_prediction(asked.predict);
  const Hardware& hardware = *prediction.hardware;
  Workload& workload = prediction.workload;
  check_questions(asked.questions, workload.phase);
  if (asked.questions.measured || asked.questions.rate)
    return write_report(measured_document(asked.questions, prediction), asked.output);
  TimeReport report;
  report.replicas = !prediction.laid_out && hardware.devices > 1;
  if (report.replicas) workload.layout.data = hardware.devices;
  report.batches = asked.batches;
  report.roofline = asked.roofline;
  if (asked.efficiency) {
    report.estimate = plain_estimate(prediction.model, workload, hardware, *asked.efficiency);
  } else {
    report.estimate = estimate(prediction.model, workload, prediction.target, hardware);
    if (asked.batches || workload.phase == Phase::decode)
      report.throughput = throughput(prediction.model, workload, prediction.target, hardware);
  }
  const std::optional<double> tokens = training_tokens(asked, report.estimate);
  if (tokens) report.run = training_run(report.estimate, *tokens, asked.price);
  if (!tokens) report.price = price_of(hardware.profile, asked.price);
  report.adapters = count_adapters(prediction.model, workload);
  report.quantised = prediction.weights;
  report.stored = prediction.stored;
  report.materialised = !prediction.target.fusions.attention;
  report.model = std::move(prediction.model);
  if (!asked.svg.empty()) {
    const bool of_batches = asked.batches && !asked.roofline && !report.throughput->points.empty();
    write_file(asked.svg, of_batches ? chart_svg(batches_chart(report)) : roofline_svg(roofline_picture(report)));
  }
  if (drawing_alone) return;
  Document document = time_document(report);
  if (asked.questions.compute_optimal)
    add_compute_optimal(document, asked.questions, report.model, report.estimate, tokens, asked.price);
  write_report(document, asked.output);
}

void run(const TimeOptions& asked) {
  try {
    predict(asked);
  } catch (const Overflow& overflow) {
    throw Error(fmt::format("{}: the workload is too large to time: {}", asked.predict.model, overflow.what()));
  }
}

void add_amount(CLI::App& command, const char* flag, std::optional<std::int64_t>& value, const char* help) {
  const auto read = [&value, flag](const std::string& text) { value = parse_size(text, flag, {}, Units::amounts); };
  command.add_option_function<std::string>(flag, read, help)->type_name("N")->group("Training");
}

}  // namespace

void add_time(CLI::App& program) {
  const auto asked = std::make_shared<TimeOptions>();
  CLI::App& command = add_command(
      program, "time", "how long a model takes on a device, what bounds it, and what training it costs",
      "  reckon time llama-3.1-8b --on h100 --context 8k --batch 16\n"
      "  reckon time llama-3.1-8b --on h200 --phase prefill --tokens 4k --roofline\n"
      "  reckon time llama-3-8b --on h100 --context 4k --batches --svg throughput.svg\n"
      "  reckon time gpt2 --on h200 --phase train --batch 64 --tokens-total 10B\n"
      "  reckon time llama-3.1-8b --on h100:64 --phase train --batch 1 --data 64 --zero 1 --tokens-total "
      "15T --price 2\n"
      "  reckon time llama-3-8b --on h100:64 --phase train --batch 1 --compute-optimal --inference-tokens 2T\n"
      "  reckon time llama-3-8b --on a100 --phase train --batch 4 --tokens 2k --lora 16 --precision nf4\n"
      "  reckon time gpt3-175b --on a100:64 --phase train --batch 64 --recompute selective --measured 13.75s\n"
      "  reckon time cs336-gpt2-xl --on a100 --phase train --precision float32 --batch 1024 --steps 400k "
      "--efficiency 0.5");
  add_prediction(command, asked->predict, Phase::decode);
  command.add_flag("--batches", asked->batches, "also the throughput by batch, until memory is full");
  command.add_flag("--roofline", asked->roofline, "also draw what parts reach below the device's roofs");
  add_network(command, asked->predict);
  add_number(command, "--efficiency", asked->efficiency, 1, "X",
             "take this share of the peak in place of the model of efficiency");
  command
      .add_option(
          "--svg", asked->svg,
          "also draw the roofline, or with --batches alone the throughput, to this file; -: standard output, in "
          "place of the table")
      ->type_name("FILE");
  add_amount(command, "--tokens-total", asked->tokens_total, "tokens of a whole training: its days, energy and cost");
  add_amount(command, "--steps", asked->steps, "the same by its steps");
  add_number(command, "--price", asked->price, 10'000, "USD",
             "of a device and hour (the profile's): what a million tokens, or a whole training, cost");
  add_questions(command, asked->questions);
  add_layout(command, asked->predict);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
