#include "time/step.h"

#include <algorithm>

#include "compile/compile.h"
#include "ops/collectives.h"
#include "program/program.h"
#include "time/roofline.h"

namespace reckon {
namespace {

double number(Count count) { return static_cast<double>(count); }

RankMemory memory_of(const Compiled& compiled) {
  const Plan& plan = compiled.plan;
  RankMemory memory;
  memory.weights = plan.weights + plan.constants;
  memory.gradients = plan.gradients;
  memory.optimizer = plan.optimizer;
  memory.cache = plan.cache;
  memory.activations = arena_in_flight(plan, compiled.lowered.workload.layout);
  return memory;
}

// What of `hidden` seconds takes longer than the `busy` ones that it runs beside.
double exposed(double hidden, double busy) { return std::max(0.0, hidden - busy); }

}  // namespace

double StageCosts::busy(Stage stage) const {
  const PassCosts& pass = of(stage);
  double seconds = pass.device;
  for (std::size_t i = 0; i < groups; ++i)
    if (static_cast<Group>(i) != Group::data) seconds += pass.link[i];
  return seconds;
}

StageCosts stage_costs(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware,
                       Places places) {
  const Compiled compiled = compile(model, workload, target, places);
  StageCosts costs;
  costs.memory = memory_of(compiled);
  Timing timing = time_program(compiled.lowered, hardware);
  costs.assumptions = std::move(timing.assumptions);
  for (const OpTime& time : timing.ops) {
    const Op& op = compiled.lowered.ops[time.op];
    const double count = static_cast<double>(time.count);
    if (time.link == 0) {
      costs.passes[static_cast<std::size_t>(op.stage)].device += time.seconds() * count;
      continue;
    }
    // Sums of gradients belong to the backward pass, wherever they are written; what is gathered behind the
    // optimizer's step to that.
    const bool once = once_a_step(op) || op.stage == Stage::optimizer;
    const bool sum = op.operation != &all_gather_operation;
    const Stage stage = op.stage == Stage::optimizer && sum ? Stage::backward : op.stage;
    PassCosts& pass = costs.passes[static_cast<std::size_t>(stage)];
    const Cost cost = op.operation->cost(compiled.lowered, op);
    of(once ? pass.once_link : pass.link, cost.group) += time.seconds() * count;
    of(once ? pass.once_sent : pass.sent, cost.group) += number(cost.sent) * count;
  }
  return costs;
}

double StepSeconds::total() const {
  double seconds = device + bubble + optimizer;
  for (double one : link) seconds += one;
  return seconds;
}

std::vector<std::int64_t> different_stages(const Layout& layout) {
  if (layout.pipeline == 1) return {0};
  if (layout.pipeline == 2) return {0, 1};
  return {0, layout.pipeline / 2, layout.pipeline - 1};
}

Step put_together(const Workload& workload, const std::vector<std::int64_t>& stages,
                  const std::vector<StageCosts>& costs) {
  const Layout& layout = workload.layout;
  Step step;
  step.workload = workload;
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto busy = [&](std::size_t at) { return costs[at].busy(Stage::forward) + costs[at].busy(Stage::backward); };
    if (busy(i) > busy(slowest)) slowest = i;
    if (i == 0 || costs[i].memory.total() > step.memory.total()) {
      step.memory = costs[i].memory;
      step.memory_stage = stages[i];
    }
  }
  const StageCosts& stage = costs[slowest];
  step.slowest_stage = stages[slowest];
  const double m = static_cast<double>(layout.micro_batches);
  const PassCosts &forward = stage.of(Stage::forward), &backward = stage.of(Stage::backward),
                  &optimizer = stage.of(Stage::optimizer);
  StepSeconds& seconds = step.seconds;
  seconds.device = m * (forward.device + backward.device);
  seconds.optimizer = optimizer.device;
  for (std::size_t i = 0; i < groups; ++i) {
    step.sent[i] = m * (forward.sent[i] + backward.sent[i]);
    double once = 0;
    for (const PassCosts& pass : stage.passes) {
      step.sent[i] += pass.once_sent[i];
      once += pass.once_link[i];
    }
    if (static_cast<Group>(i) != Group::data) seconds.link[i] = m * (forward.link[i] + backward.link[i]) + once;
  }
  const double forward_busy = stage.busy(Stage::forward), backward_busy = stage.busy(Stage::backward);
  seconds.bubble = static_cast<double>(layout.pipeline - 1) / static_cast<double>(layout.virtual_stages) *
                   (forward_busy + backward_busy);
  double& waiting = of(seconds.link, Group::data);
  waiting = m * exposed(of(forward.link, Group::data), forward_busy) +
            m * exposed(of(backward.link, Group::data), backward_busy) +
            exposed(of(backward.once_link, Group::data), backward_busy) +
            exposed(of(optimizer.once_link, Group::data), forward_busy);
  return step;
}

Step step_of(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware) {
  const std::vector<std::int64_t> stages = different_stages(workload.layout);
  std::vector<StageCosts> costs;
  for (std::int64_t stage : stages) {
    Workload of_stage = workload;
    of_stage.layout.stage = stage;
    costs.push_back(stage_costs(model, of_stage, target, hardware));
  }
  return put_together(workload, stages, costs);
}

}  // namespace reckon
