// reckon verify: predicted beside measured, on this machine.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "files/quote.h"
#include "measure/verify_time.h"
#include "model/location.h"
#include "model/types.h"
#include "network/forward.h"
#include "report/measure.h"
#include "report/progress.h"
#include "report/run.h"
#include "run/verify.h"
#include "run/verify_reference.h"
#include "time/profile.h"
#include "train/verify_step.h"

namespace reckon::cli {
namespace {

struct VerifyCommand {
  RunOptions run;
  std::int64_t tokens = 0, batch = 0;  // 0: not given
  std::string against;
  bool train = false, time = false;
  std::optional<Phase> phase;
  std::string on;
  std::int64_t rounds = 5;
  std::optional<double> tolerance;  // a share; none: nothing is asked, and 15% is what the report speaks of
  Output output;
};

constexpr double usual_tolerance = 0.15;

// 15%, 0.15
double parse_tolerance(const std::string& text) {
  double value = 0;
  std::size_t end = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  if (unit == "%") value /= 100;
  if (end == 0 || (!unit.empty() && unit != "%") || !(value > 0 && value <= 1))
    throw UsageError(fmt::format("--tolerance is {}; expected a share above 0, up to 100%: 15% or 0.15", quote(text)));
  return value;
}

// Before any file of the model is opened.
void check_use(const VerifyCommand& asked) {
  if (!asked.against.empty() && asked.against != "reference")
    throw UsageError(fmt::format("--against is {}; expected reference", quote(asked.against)));
  if (!asked.against.empty() && (asked.train || asked.batch > 0 || asked.run.device != Device::cpu))
    throw UsageError(
        "--against compares the prefill of one sequence on the cpu; leave out --train, --batch and --device");
  if (!asked.time && (asked.phase || !asked.on.empty() || asked.tolerance))
    throw UsageError("--phase, --on and --tolerance are about time; give --time too");
  if (asked.time && !asked.against.empty()) throw UsageError("--time and --against are two checks; give one of them");
  if (asked.time && asked.run.device != Device::cpu)
    throw UsageError("--time is about the kernels of this machine; leave out --device");
  if (asked.run.cache && (asked.train || asked.time || !asked.against.empty()))
    throw UsageError("--cache is of what verify counts when it generates; leave out --train, --time and --against");
  if (asked.train && asked.phase && *asked.phase != Phase::train)
    throw UsageError("--train is a step of training, and --phase another; give one of them");
}

void verify_times(const VerifyCommand& asked, const Model& model) {
  VerifyTimeOptions options;
  if (!why_not_trained(model).empty()) options.phases = {Phase::prefill, Phase::decode};
  if (asked.train) options.phases = {Phase::train};
  if (asked.phase) options.phases = {*asked.phase};
  options.tokens = asked.tokens;
  if (asked.batch > 0) options.batch = asked.batch;
  if (asked.run.dtype) options.precision = *asked.run.dtype;
  options.rounds = asked.rounds;
  if (!asked.on.empty()) options.stored = read_hardware(asked.on).profile;
  options.probe = {asked.run.threads, &interrupt_flag()};
  ProgressLine progress;
  TimeVerification verification;
  try {
    verification = verify_time(
        model, [&] { return weights_to_run(asked.run, model); }, options,
        [&](std::int64_t done, std::int64_t total) { progress.show("measuring", done, total); });
  } catch (const Cancelled&) {
    throw Error("interrupted while times were being measured");
  }
  progress.clear();
  const double tolerance = asked.tolerance.value_or(usual_tolerance);
  write_report(verify_time_document(model, verification, tolerance), asked.output);
  if (!asked.tolerance) return;  // how long something takes is nobody's fault, unless it was asked for
  for (const TimedPhase& phase : verification.phases)
    if (!phase.within(tolerance))
      throw Error(
          fmt::format("the prediction of {} is not within {} of what was measured: predicted / measured is {:.3f}",
                      phase_name(phase.phase), tolerance_text(tolerance), phase.ratio()));
}

void compare(const VerifyCommand& asked, const Model& model, Weights weights, const VerifyOptions& options) {
  const ReferenceComparison comparison = compare_with_reference(model, std::move(weights), options);
  write_report(verify_document(model, comparison), asked.output);
  if (comparison.first) throw Error(fmt::format("{} differs from the reference", comparison.first->op));
}

void run(VerifyCommand& asked) {
  check_use(asked);
  // Neither a step's figures nor its time depend on the weights, and a preset has none.
  if ((asked.train || asked.time) && !asked.run.random && !locate_model(asked.run.model).preset.empty())
    asked.run.random = 1;
  VerifyOptions options;
  options.device = asked.run.device;
  options.cache = asked.run.cache.value_or(DType::float32);
  options.threads = asked.run.threads;
  options.tokens = asked.tokens;
  if (asked.batch > 0) options.batch = asked.batch;
  if (asked.run.dtype) options.precision = *asked.run.dtype;
  check_file(asked.output.file);
  const Model model = model_to_run(asked.run);
  if (options.tokens > 0) check_length(model, options.tokens, model.context);
  options.cancel = &interrupt_flag();
  const InterruptHandler handler;
  if (asked.time) return verify_times(asked, model);
  Weights weights = weights_to_run(asked.run, model);
  if (!asked.against.empty()) return compare(asked, model, std::move(weights), options);
  const Verification verification =
      asked.train ? verify_step(model, std::move(weights), options) : verify(model, std::move(weights), options);
  write_report(verify_document(model, verification), asked.output);
  if (!verification.findings.empty()) throw Error(verification.findings.front());
  if (!verification.holds()) throw Error("a measured figure differs from its prediction");
}

}  // namespace

void add_verify(CLI::App& program) {
  const auto asked = std::make_shared<VerifyCommand>();
  CLI::App& command = add_command(
      program, "verify",
      "run a prefill and some decoding, or a training step, and hold what was measured against the prediction; or how "
      "long it took; or what each op computes against the reference",
      "  reckon verify gpt2 --random 1\n"
      "  reckon verify ./model --tokens 256 --batch 2\n"
      "  reckon verify mini-gpt --train\n"
      "  reckon verify mini-gpt --time --tolerance 15%\n"
      "  reckon verify ./model --against reference\n"
      "  reckon verify model-Q4_K_M.gguf --cache q8_0\n"
      "  reckon verify mini-gpt --random 1 --device reference\n"
      "  reckon verify mixtral-8x7b --random 1 --layers 1 --d-model 512\n"
      "  reckon verify mini-gpt --random 1 --dtype bfloat16 --format json");
  add_run(command, asked->run);
  add_size(command, "--tokens", asked->tokens, "tokens of the prompt (half the context, at most 512)");
  command
      .add_option(
          "--against", asked->against,
          "compare what each op of a prefill of --tokens (the context, at most 16) computes, and name the first "
          "that differs")
      ->type_name("reference");
  add_size(command, "--batch", asked->batch, "sequences side by side (1)").type_name("B");
  command.add_flag("--train", asked->train,
                   "a training step, of --tokens (the context, at most 512) and --batch; a preset has random weights");
  command.add_flag(
      "--time", asked->time,
      "how long this machine is predicted to take beside how long it takes: a prefill of --tokens, a step "
      "of decoding behind it and a step of training, as a whole and op by op; a preset has random weights");
  add_choice(command, "--phase", asked->phase, "with --time, one phase alone (all three)",
             {{"prefill", Phase::prefill}, {"decode", Phase::decode}, {"train", Phase::train}});
  command
      .add_option("--on", asked->on,
                  "with --time, predict by this profile of `reckon calibrate`, not by one that is measured in turns "
                  "with the runs")
      ->type_name("this");
  command
      .add_option_function<std::string>(
          "--tolerance", [asked](const std::string& text) { asked->tolerance = parse_tolerance(text); },
          "with --time, fail (exit code 1) where a phase is predicted further off than this; the report says which are "
          "in any case (15%)")
      ->type_name("SHARE");
  expect_whole(*command.add_option("--rounds", asked->rounds, "with --time, measure so often, and take medians (5)")
                    ->type_name("N"),
               1, 1000);
  add_modifiers(command, asked->run.changes);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
