#include "time/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compile/compile.h"
#include "count/ledger.h"
#include "time/fit.h"
#include "time/rates.h"

namespace reckon {
namespace {

constexpr std::int64_t most_batch = 1 << 20;

// The network's own products, as if one device trained without computing anything again.
double headline_flops(const Model& model, Workload workload) {
  const Layout layout = workload.layout;
  workload.layout = {};
  workload.recompute = Recompute::none;
  const double each = static_cast<double>(read_ledger(logical_program(model, workload)).matmul_full);
  return each * static_cast<double>(layout.data * layout.micro_batches);
}

void set_amounts(Estimate& result, const Model& model, const Workload& workload, const Hardware& hardware) {
  result.workload = workload;
  result.hardware = hardware;
  result.headline = headline_flops(model, workload);
  result.sequences = static_cast<double>(workload.batch * workload.layout.data * workload.layout.micro_batches);
  result.tokens = result.sequences * static_cast<double>(workload.tokens);
}

// The type in which most FLOPs of products are computed.
ComputeType most_common_type(const Program& program, Rates& rates) {
  std::map<DType, double> flops;
  for (const Op& op : program.ops) {
    const double matmul = static_cast<double>(op.operation->cost(program, op).matmul.value());
    if (matmul > 0) flops[factor_type(program, op)] += matmul * static_cast<double>(program.count(op.repeat));
  }
  const auto most =
      std::max_element(flops.begin(), flops.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return rates.type_of(most == flops.end() ? DType::float32 : most->first);
}

// Of the products of a rank in a step: the optimizer's run once.
double matmul_flops(const Program& program) {
  const auto micro_batches = static_cast<double>(program.workload.layout.micro_batches);
  double sum = 0;
  for (const Op& op : program.ops)
    sum += static_cast<double>(op.operation->cost(program, op).matmul.value()) *
           static_cast<double>(program.count(op.repeat)) * (op.stage == Stage::optimizer ? 1 : micro_batches);
  return sum;
}

// Of one rank of each stage of the pipeline. Stages are not alike: the last has the head, and layers may differ.
double matmul_flops_of_stages(const Model& model, Workload workload, const Target& target) {
  double sum = 0;
  for (std::int64_t stage = 0; stage < workload.layout.pipeline; ++stage) {
    workload.layout.stage = stage;
    sum += matmul_flops(compile(model, workload, target, Places::none).lowered);
  }
  return sum;
}

std::int64_t slowest_stage(const Model& model, Workload workload, const Target& target, const Hardware& hardware) {
  const std::int64_t stages = workload.layout.pipeline;
  std::int64_t slowest = 0;
  double longest = 0;
  for (const std::int64_t stage : {std::int64_t{0}, stages / 2, stages - 1}) {
    workload.layout.stage = stage;
    const Timing timing = time_program(compile(model, workload, target).lowered, hardware);
    if (timing.forward + timing.backward <= longest) continue;
    longest = timing.forward + timing.backward;
    slowest = stage;
  }
  return slowest;
}

}  // namespace

double Estimate::bound_by(Bound bound) const {
  double sum = 0;
  for (const TimeRow& row : rows) sum += row.bound_by[static_cast<std::size_t>(bound)];
  return sum;
}

Estimate estimate(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware) {
  Estimate result;
  set_amounts(result, model, workload, hardware);
  const Layout& layout = workload.layout;
  if (layout.pipeline > 1) result.workload.layout.stage = slowest_stage(model, workload, target, hardware);
  Workload fullest = workload;
  if (layout.pipeline > 1) fullest.layout.stage = -1;
  result.bytes = bytes_needed(model, fullest, target);
  const Program program = compile(model, result.workload, target).lowered;
  const Timing timing = time_program(program, hardware);
  Rates rates(hardware);
  result.type = most_common_type(program, rates);
  result.peak = static_cast<double>(hardware.profile.peak.at(result.type));
  const double extent = static_cast<double>(assumed::large_extent), gib = 1 << 30;
  const ProductShape large{1, extent, extent, extent};
  result.reached_flops = large.flops() / rates.product(large, result.type, 2);
  result.reached_bandwidth = 2 * gib / rates.memory(gib, gib);
  result.assumptions = timing.assumptions;
  result.rows = time_rows(program, timing, layout.micro_batches);
  for (const TimeRow& row : result.rows) {
    for (std::size_t stage = 0; stage < result.stages.size(); ++stage) result.stages[stage] += row.stages[stage];
  }
  // Filling and draining a pipeline (Narayanan et al. 2021, section 2.2).
  result.bubble = static_cast<double>(layout.pipeline - 1) / static_cast<double>(layout.virtual_stages) *
                  (timing.forward + timing.backward);
  if (result.bubble > 0) {
    TimeRow bubble{"waiting for the pipeline"};
    bubble.stages[0] = result.bubble;
    bubble.bound_by[static_cast<std::size_t>(Bound::link)] = result.bubble;
    result.rows.push_back(bubble);
  }
  result.seconds = result.stages[0] + result.stages[1] + result.stages[2] + result.bubble;
  const double stages = layout.pipeline > 1 ? matmul_flops_of_stages(model, workload, target) : matmul_flops(program);
  result.computed = stages * static_cast<double>(hardware.devices / layout.pipeline);
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
  const auto point_of = [&](std::int64_t batch) {
    at.batch = batch;
    const Estimate time = estimate(model, at, target, hardware);
    BatchPoint point{batch, time.seconds, time.tokens_per_second(), time.bytes, Bound::compute};
    for (const Bound bound : {Bound::memory, Bound::link, Bound::launch})
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
      (point_of(middle).bound == Bound::compute ? high : low) = middle;
    }
    result.knee = high;
  }
  return result;
}

TrainingRun training_run(const Estimate& step, double tokens, std::optional<double> usd_per_hour) {
  TrainingRun run;
  const Profile& profile = step.hardware.profile;
  run.tokens = tokens;
  run.steps = std::ceil(tokens / step.tokens - 1e-9);
  run.seconds = run.steps * step.seconds;
  run.device_hours = run.seconds / 3600 * static_cast<double>(step.hardware.devices);
  if (profile.watts) run.kilowatt_hours = run.device_hours * static_cast<double>(*profile.watts) / 1000;
  if (usd_per_hour) {
    run.price = fmt::format("{:g} USD a device-hour, as given", *usd_per_hour);
  } else if (profile.price) {
    usd_per_hour = profile.price->usd_per_hour;
    run.price = fmt::format("{:g} USD a device-hour ({}, {})", *usd_per_hour, profile.price->kind, profile.price->date);
  }
  if (usd_per_hour) run.usd = run.device_hours * *usd_per_hour;
  return run;
}

}  // namespace reckon
