#include "time/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compile/compile.h"
#include "time/fit.h"
#include "time/rates.h"

namespace reckon {
namespace {

constexpr std::int64_t most_batch = 1 << 20;

void set_amounts(Estimate& result, const Model& model, const Workload& workload, const Hardware& hardware) {
  result.workload = workload;
  result.hardware = hardware;
  result.headline = headline_flops(model, workload);
  result.sequences = static_cast<double>(workload.batch * workload.layout.data * workload.layout.micro_batches);
  result.tokens = result.sequences * static_cast<double>(workload.tokens);
}

// Of the products of a rank in a step, of which the optimizer's run once: their FLOPs, and the seconds that these would
// take at the peaks of their types.
struct Computed {
  double flops = 0, seconds = 0;
};

Computed computed_by(const Program& program, const Timing& timing, Rates& rates) {
  const auto micro_batches = static_cast<double>(program.workload.layout.micro_batches);
  Computed sum;
  for (const OpTime& time : timing.ops) {
    const Op& op = program.ops[time.op];
    const double flops = static_cast<double>(op.operation->cost(program, op).matmul.value()) *
                         static_cast<double>(time.count) * (op.stage == Stage::optimizer ? 1 : micro_batches);
    if (flops == 0) continue;
    sum.flops += flops;
    sum.seconds += flops / static_cast<double>(rates.profile().peak.at(rates.type_of(time.factors)));
  }
  return sum;
}

}  // namespace

double Estimate::bound_by(Bound bound) const {
  double sum = 0;
  for (const TimeRow& row : rows) sum += row.bound_by[static_cast<std::size_t>(bound)];
  return sum;
}

Estimate estimate(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware,
                  Places places) {
  Estimate result;
  set_amounts(result, model, workload, hardware);
  const Layout& layout = workload.layout;
  Workload fullest = workload;
  if (layout.pipeline > 1) fullest.layout.stage = -1;
  result.bytes = bytes_needed(model, fullest, target, places);
  struct Timed {
    Compiled compiled;
    Timing timing;
  };
  std::vector<Timed> timed;
  std::vector<StageCosts> costs;
  const std::vector<StageKind> stages = different_stages(model, layout);
  for (const StageKind& kind : stages) {
    Workload of_stage = workload;
    of_stage.layout.stage = kind.stage;
    Compiled compiled = compile(model, of_stage, target, Places::none);
    Timing timing = time_program(compiled.lowered, hardware);
    costs.push_back(stage_costs(model, compiled, timing));
    timed.push_back({std::move(compiled), std::move(timing)});
  }
  result.step = put_together(workload, stages, costs);
  const StepSeconds& seconds = result.step.seconds;
  result.workload.layout.stage = result.step.slowest_stage;
  const auto slowest = std::find_if(stages.begin(), stages.end(),
                                    [&](const StageKind& kind) { return kind.stage == result.step.slowest_stage; }) -
                       stages.begin();
  const Program& program = timed[static_cast<std::size_t>(slowest)].compiled.lowered;
  const Timing& timing = timed[static_cast<std::size_t>(slowest)].timing;
  Rates rates(hardware);
  result.type = rates.type_of(result.step.products);
  result.peak = static_cast<double>(hardware.profile.peak.at(result.type));
  const double extent = static_cast<double>(assumed::large_extent), gib = 1 << 30;
  const ProductShape large{1, extent, extent, extent};
  result.reached_flops = large.flops() / rates.product(large, {result.type}, 2);
  result.reached_bandwidth = 2 * gib / rates.memory(gib, gib);
  result.assumptions = timing.assumptions;
  result.rows = time_rows(program, timing, result.step);
  for (std::size_t stage = 0; stage < result.stages.size(); ++stage)
    result.stages[stage] = seconds.passes[stage].total();
  result.bubble = seconds.bubble;
  result.seconds = seconds.total();
  // One rank of each stage of the pipeline: the last has the head, and layers may differ.
  const std::int64_t ranks_of_stage = hardware.devices / layout.pipeline;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Computed computed = computed_by(timed[i].compiled.lowered, timed[i].timing, rates);
    const auto ranks = static_cast<double>(stages[i].count * ranks_of_stage);
    result.computed += ranks * computed.flops;
    result.at_peaks += ranks * computed.seconds;
  }
  return result;
}

Estimate plain_estimate(const Model& model, const Workload& workload, const Hardware& hardware, double share) {
  Estimate result;
  set_amounts(result, model, workload, hardware);
  Rates rates(hardware);
  result.type = rates.type_of(workload.precision.activations);
  result.peak = static_cast<double>(hardware.profile.peak.at(result.type));
  result.plain_share = share;
  result.computed = result.headline;
  result.at_peaks = result.headline / result.peak;
  result.seconds = result.headline / (share * result.peak * static_cast<double>(hardware.devices));
  result.stages[0] = result.seconds;
  return result;
}

Throughput throughput(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware) {
  Throughput result;
  Workload at = workload;
  if (at.layout.pipeline > 1) at.layout.stage = -1;  // the fullest
  const std::int64_t room = hardware.profile.memory_bytes;
  const Largest largest = largest_batch(model, at, target, room);
  if (largest.value == 0) {
    result.needed = room + largest.over;
    return result;
  }
  result.all = largest.all || largest.value > most_batch;
  result.largest = std::min(largest.value, most_batch);
  const auto point_of = [&](std::int64_t batch, Places places = Places::all) {
    at.batch = batch;
    const Estimate time = estimate(model, at, target, hardware, places);
    BatchPoint point{batch, time.seconds, time.tokens_per_second(), time.bytes, Bound::compute};
    for (const Bound bound : bounds)
      if (time.bound_by(bound) > time.bound_by(point.bound)) point.bound = bound;
    return point;
  };
  for (std::int64_t batch = 1; batch < result.largest; batch *= 2) result.points.push_back(point_of(batch));
  result.points.push_back(point_of(result.largest));
  for (std::size_t i = 0; i < result.points.size() && !result.knee; ++i) {
    if (result.points[i].bound != Bound::compute) continue;
    std::int64_t low = i == 0 ? 0 : result.points[i - 1].batch, high = result.points[i].batch;
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (point_of(middle, Places::none).bound == Bound::compute ? high : low) = middle;
    }
    result.knee = high;
  }
  return result;
}

std::optional<DevicePrice> price_of(const Profile& profile, std::optional<double> usd_per_hour) {
  if (usd_per_hour) return DevicePrice{*usd_per_hour, fmt::format("{:g} USD a device-hour, as given", *usd_per_hour)};
  if (!profile.price) return std::nullopt;
  const Price& price = *profile.price;
  return DevicePrice{price.usd_per_hour,
                     fmt::format("{:g} USD a device-hour ({}, {})", price.usd_per_hour, price.kind, price.date)};
}

double usd_per_million(const DevicePrice& price, std::int64_t devices, double tokens_per_second) {
  return price.usd_per_hour * static_cast<double>(devices) / (tokens_per_second * 3600) * 1e6;
}

TrainingRun training_run(const Estimate& step, double tokens, std::optional<double> usd_per_hour) {
  TrainingRun run;
  const Profile& profile = step.hardware.profile;
  run.tokens = tokens;
  run.steps = std::ceil(tokens / step.tokens - 1e-9);
  run.seconds = run.steps * step.seconds;
  run.device_hours = run.seconds / 3600 * static_cast<double>(step.hardware.devices);
  if (profile.watts) run.kilowatt_hours = run.device_hours * static_cast<double>(*profile.watts) / 1000;
  if (const std::optional<DevicePrice> price = price_of(profile, usd_per_hour)) {
    run.price = price->text;
    run.usd = run.device_hours * price->usd_per_hour;
  }
  return run;
}

}  // namespace reckon
