// reckon sweep: how parameters and FLOPs follow one size.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "files/numbers.h"
#include "report/progress.h"
#include "report/sweep.h"

namespace reckon::cli {
namespace {

struct SweepOptions {
  std::string model;
  Options options;
  std::int64_t steps = 0;
  std::string svg;
  Output output;
};

// Counts point by point. Returns why it ended before the last, or nothing.
std::string count_points(Sweep& sweep, const Swept& swept, const Model& loaded, Setting setting) {
  const char* const flag = swept.option.flag;
  const bool changing = swept.option.changes_model();
  Model model = changing ? loaded : modify(loaded, setting.changes);
  const std::string task = fmt::format("sweeping {}", flag);
  const InterruptHandler handler;
  ProgressLine progress;
  sweep.points.reserve(swept.range.values.size());
  for (std::int64_t value : swept.range.values) {
    if (interrupted()) {
      return fmt::format("interrupted before {} {}, after {} of {} points", flag, value, grouped(sweep.points.size()),
                         grouped(swept.range.values.size()));
    }
    progress.show(task, std::ssize(sweep.points), std::ssize(swept.range.values));
    swept.option.set(setting, value);
    if (changing) model = modify(loaded, setting.changes);
    try {
      const Ledger ledger = count(model, setting.workload);
      if (sweep.points.empty()) sweep.workload = ledger.workload;
      sweep.points.push_back(sweep_point(value, model, ledger));
    } catch (const Overflow& overflow) {
      return fmt::format("the sweep ends before {} {}: {}", flag, value, overflow.what());
    }
  }
  return "";
}

void run(SweepOptions& asked) {
  const bool drawing_alone = draws_alone(asked.svg, asked.output);
  check_file(asked.svg);
  const Swept swept = take_range(asked.options, asked.steps);
  const Setting setting = read_options(asked.options);
  const Model loaded = read_model(asked.model);
  Sweep sweep{loaded.name, swept.option.flag + 2, swept.range.doubling, {}, {}, swept.range.values.size()};
  const std::string unfinished = count_points(sweep, swept, loaded, setting);
  if (!sweep.points.empty()) {
    if (!asked.svg.empty()) write_file(asked.svg, chart_svg(sweep_chart(sweep)));
    if (!drawing_alone) write_report(sweep_document(sweep), asked.output);
  }
  if (!unfinished.empty()) throw Error(unfinished);
}

}  // namespace

void add_sweep(CLI::App& program) {
  const auto asked = std::make_shared<SweepOptions>();
  CLI::App& command =
      add_command(program, "sweep", "how parameters and FLOPs follow one size, as table and plot",
                  "  reckon sweep cs336-gpt2-xl --context 1k..1M\n"
                  "  reckon sweep gpt2 --layers 2..48:2 --svg layers.svg\n"
                  "  reckon sweep llama-3.1-8b --phase decode --past 0..128k\n"
                  "  reckon sweep mixtral-8x7b --experts 4..64 --format csv\n\n"
                  "Exactly one of the options that take N is a range: A..B doubles, A..B:STEP adds, and A..B with\n"
                  "--steps COUNT spreads so many points evenly. Ctrl-C ends a long sweep with the points it has.");
  add_model(command, asked->model);
  add_size(command, "--steps", asked->steps, "so many points, evenly spread, instead of doubling", {}, Units::amounts)
      .type_name("COUNT");
  command
      .add_option("--svg", asked->svg, "also draw the lines to this file; -: standard output, in place of the table")
      ->type_name("FILE");
  add_counting(command, asked->options, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
