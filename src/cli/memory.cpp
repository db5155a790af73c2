// reckon memory: what a workload holds, where it peaks, and what fits a device.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/predict_options.h"
#include "files/numbers.h"
#include "compile/compile.h"
#include "count/cache.h"
#include "memory/breakdown.h"
#include "report/memory_use.h"
#include "report/progress.h"

namespace reckon::cli {
namespace {

struct MemoryOptions {
  PredictOptions predict;
  MemoryBy by = MemoryBy::kind;
  std::int64_t reserve = 0;
  std::string svg;
  Output output;
};

// The hardware's memory, less what is to be kept free.
std::optional<RoomOn> room_of(const Prediction& prediction, std::int64_t reserve) {
  if (!prediction.hardware) {
    if (reserve > 0) throw UsageError("--reserve is kept free on a device; expected --on PROFILE with it");
    return std::nullopt;
  }
  RoomOn room{*prediction.hardware, reserve, {}, {}};
  if (room.bytes() <= 0)
    throw UsageError(fmt::format("--reserve is {}; expected less than the {} of {}", binary_bytes(reserve),
                                 binary_bytes(room.hardware.profile.memory_bytes), room.hardware.profile.name));
  return room;
}

// Of a pipeline the stage that was asked for, or the fullest.
void settle_stage(Prediction& prediction) {
  if (prediction.stage || prediction.workload.layout.pipeline == 1) return;
  prediction.workload.layout.stage = fullest_stage(prediction.model, prediction.workload, prediction.target);
}

// That the rank computes with, before data ranks share weights out.
std::int64_t whole_parameters(const Prediction& prediction, const Breakdown& held) {
  if (prediction.workload.layout.zero < 3) return held.parameters;
  Workload whole = prediction.workload;
  whole.layout.zero = 0;
  const Compiled compiled = compile(prediction.model, whole, prediction.target);
  return break_down(compiled.lowered, compiled.plan).parameters;
}

// Without the largest batch and context that the room has space for.
MemoryUse use_of(const Prediction& prediction, std::int64_t reserve) {
  MemoryUse use;
  use.room = room_of(prediction, reserve);
  use.model = prediction.model;
  use.made_for = prediction.made_for;
  use.workload = prediction.workload;
  use.target = prediction.target;
  use.compiled = compile(use.model, use.workload, use.target);
  use.held = break_down(use.compiled.lowered, use.compiled.plan);
  use.whole_parameters = whole_parameters(prediction, use.held);
  if (use.workload.phase == Phase::prefill || use.workload.phase == Phase::decode)
    use.cache = cache_cost(use.model, use.workload);
  use.quantised = prediction.weights;
  use.stored = prediction.stored;
  use.adapters = count_adapters(use.model, use.workload);
  use.laid_out = prediction.laid_out;
  return use;
}

void report_one(const MemoryOptions& asked) {
  const bool drawing_alone = draws_alone(asked.svg, asked.output);
  check_file(asked.svg);
  Prediction prediction = read_prediction(asked.predict);
  settle_stage(prediction);
  MemoryUse use = use_of(prediction, asked.reserve);
  if (use.room) {
    Workload any_stage = use.workload;
    if (!prediction.stage && any_stage.layout.pipeline > 1) any_stage.layout.stage = -1;
    use.room->batch = largest_batch(use.model, any_stage, use.target, use.room->bytes());
    use.room->context = largest_context(use.model, any_stage, use.target, use.room->bytes());
  }
  if (!asked.svg.empty()) write_file(asked.svg, memory_picture_svg(memory_picture(use)));
  if (!drawing_alone) write_report(memory_document(use, asked.by), asked.output);
}

// A size that was given as a range, or the one value that stands for none.
struct Sizes {
  const SizeOption* option = nullptr;
  std::vector<std::int64_t> values{0};
  std::string name() const { return option == nullptr ? "" : option->flag + 2; }
  void set(Setting& setting, std::int64_t value) const {
    if (option != nullptr) option->set(setting, value);
  }
};

VaryingSizes varying_sizes(const std::vector<Swept>& ranges) {
  VaryingSizes varying;
  for (const Swept& swept : ranges) {
    const SizeOption& option = swept.option;
    const auto* of_workload = std::get_if<std::int64_t Workload::*>(&option.field);
    if (of_workload != nullptr) (*of_workload == &Workload::batch ? varying.batch : varying.lengths) = true;
    // The tokens where none are given.
    const auto* of_model = std::get_if<std::optional<std::int64_t> Changes::*>(&option.field);
    if (of_model != nullptr && *of_model == &Changes::context) varying.lengths = true;
  }
  return varying;
}

// Tokens past what the model was made for.
std::int64_t beyond_context(const Prediction& prediction) {
  return prediction.workload.past + prediction.workload.tokens - prediction.model.context;
}

void report_grid(MemoryOptions& asked) {
  if (!asked.svg.empty()) throw UsageError("--svg draws one workload; expected no range with it");
  if (asked.by == MemoryBy::tensor) throw UsageError("--by tensor lists one workload; expected no range with it");
  const std::vector<Swept> ranges = take_ranges(asked.predict.options, 2);
  Sizes rows{&ranges.front().option, ranges.front().range.values}, columns;
  if (ranges.size() > 1) columns = {&ranges.back().option, ranges.back().range.values};
  const StoredModel loaded = read_stored_model(asked.predict);
  MemoryGrid grid;
  Varying& varying = grid.first.varying;
  const std::size_t all = rows.values.size() * columns.values.size();
  constexpr std::size_t most = 1'000'000;
  if (all > most)
    throw UsageError(fmt::format("the ranges have {} pairs; expected at most {}", grouped(all), grouped(most)));
  grid.row_name = rows.name();
  grid.column_name = columns.name();
  const InterruptHandler handler;
  ProgressLine progress;
  std::optional<Prediction> longest;
  for (std::int64_t row : rows.values) {
    for (std::int64_t column : columns.values) {
      if (interrupted())
        throw Error(fmt::format("interrupted after {} of {} pairs", grouped(grid.points.size()), grouped(all)));
      progress.show("planning memory", std::ssize(grid.points), static_cast<std::int64_t>(all));
      rows.set(asked.predict.options.setting, row);
      columns.set(asked.predict.options.setting, column);
      Prediction prediction = settle_prediction(asked.predict, loaded);
      settle_stage(prediction);
      if (grid.points.empty()) {
        grid.first = use_of(prediction, asked.reserve);
        varying.sizes = varying_sizes(ranges);
        varying.stage = !prediction.stage && prediction.workload.layout.pipeline > 1;
        grid.points.push_back({row, column, grid.first.held});
      } else {
        const Compiled compiled = compile(prediction.model, prediction.workload, prediction.target);
        grid.points.push_back({row, column, break_down(compiled.lowered, compiled.plan)});
      }
      Breakdown& held = grid.points.back().held;
      held.tensors.clear();  // of thousands of points, only sums are shown
      varying.parameters |= held.parameters != grid.first.held.parameters;
      varying.stored |= prediction.stored != grid.first.stored;
      if (!longest || beyond_context(prediction) > beyond_context(*longest)) longest = std::move(prediction);
    }
  }
  progress.clear();
  note_workload(longest->model, longest->workload);
  note_float16(asked.predict, *longest);
  write_report(memory_grid_document(grid), asked.output);
}

void run(MemoryOptions& asked) {
  try {
    asked.predict.options.ranges.empty() ? report_one(asked) : report_grid(asked);
  } catch (const Overflow& overflow) {
    throw Error(fmt::format("{}: the workload is too large to plan: {}", asked.predict.model, overflow.what()));
  }
}

}  // namespace

void add_memory(CLI::App& program) {
  const auto asked = std::make_shared<MemoryOptions>();
  CLI::App& command = add_command(
      program, "memory", "what a model needs of memory, where it peaks, and what fits a device",
      "  reckon memory llama-3.1-8b --context 8k --batch 16 --on h100\n"
      "  reckon memory gpt2 --phase train --batch 32 --recompute selective --svg step.svg\n"
      "  reckon memory deepseek-v3 --phase decode --context 32k --cache float8_e4m3 --precision float8_e4m3\n"
      "  reckon memory llama-3.1-8b --phase train --optimizer adam8bit --gradients float32 --by tensor\n"
      "  reckon memory model-Q4_K_M.gguf --target cpu --cache q8_0 --context 32k\n"
      "  reckon memory llama-3.1-8b --batch 1..256 --context 1k..128k --on h100\n\n"
      "When decoding, --context is the length of the cache with the new token (--past: without it). One or\n"
      "two options that take N may be ranges: A..B doubles, A..B:STEP adds.");
  add_prediction(command, asked->predict, Phase::decode);
  add_target(command, asked->predict);
  add_choice(command, "--by", asked->by, "what a row stands for (kind)",
             {{"kind", MemoryBy::kind}, {"tensor", MemoryBy::tensor}});
  add_size(command, "--reserve", asked->reserve, "of the device, kept free for its driver and others: 2GiB (0)",
           {0, std::int64_t{1} << 50}, Units::bytes)
      .type_name("BYTES");
  command
      .add_option("--svg", asked->svg,
                  "also draw memory over the course of a run to this file; -: standard output, in place of the table")
      ->type_name("FILE");
  add_layout(command, asked->predict);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
