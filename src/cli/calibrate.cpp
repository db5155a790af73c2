// reckon calibrate: measures this machine, and keeps its profile as `this`.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "files/atomic_write.h"
#include "measure/calibrate.h"
#include "report/measure.h"
#include "report/progress.h"

namespace reckon::cli {
namespace {

struct CalibrateOptions {
  int threads = 0;
  std::optional<std::int64_t> rounds;
  bool quick = false;
  Format format = Format::table;
  std::string file;  // empty: where `this` is looked for
};

void run(const CalibrateOptions& asked) {
  const std::string path = asked.file.empty() ? this_machine_path().string() : asked.file;
  if (asked.file.empty()) make_folder(this_machine_path().parent_path());
  check_file(path);
  const InterruptHandler handler;
  Profile profile;
  try {
    // Unless they are asked for, no more rounds than there is time for, but enough for a median.
    constexpr std::int64_t usual = 5, least = 3;
    constexpr std::chrono::seconds enough(25);
    const auto begin = std::chrono::steady_clock::now();
    Calibration calibration({asked.threads, &interrupt_flag()}, asked.quick);
    ProgressLine progress;
    const std::int64_t rounds = asked.rounds.value_or(usual);
    std::int64_t done = 0;
    for (std::int64_t i = 0; i < rounds; ++i) {
      if (!asked.rounds && i >= least && std::chrono::steady_clock::now() - begin > enough) break;
      calibration.round([&] { progress.show("calibrating", ++done, rounds * calibration.steps()); });
    }
    progress.clear();
    profile = calibration.profile();
  } catch (const Cancelled&) {
    throw Error("interrupted while this machine was being measured; nothing was written");
  }
  write_file(path, profile_json(profile).dump(2) + "\n");
  if (path != "-") write_report(calibration_document(profile, path), {asked.format, ""});
}

}  // namespace

void add_calibrate(CLI::App& program) {
  const auto asked = std::make_shared<CalibrateOptions>();
  CLI::App& command =
      add_command(program, "calibrate", "measure this machine, and keep its profile as `this`, for --on this",
                  "  reckon calibrate\n"
                  "  reckon calibrate --threads 1\n"
                  "  reckon calibrate --output mine.json --format json",
                  false);
  add_threads(command, asked->threads).description("threads that are measured, and predicted for (all)");
  expect_whole(*command
                    .add_option("--rounds", asked->rounds,
                                "measure everything so often, and take medians (3 to 5, in about 30 s)")
                    ->type_name("N"),
               1, 1000);
  command.add_flag("--quick", asked->quick, "small sizes alone, in a few seconds: not for predictions of large models");
  add_choice(command, "--format", asked->format, "form of the report (table)",
             {{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}, {"markdown", Format::markdown}})
      .group("Output");
  command
      .add_option("--output", asked->file, "write the profile to this file, not to that of `this`; -: standard output")
      ->type_name("FILE")
      ->group("Output");
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
