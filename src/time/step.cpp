#include "time/step.h"

#include <algorithm>
#include <map>

#include "count/ledger.h"
#include "network/stages.h"
#include "ops/collectives.h"

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

std::int64_t layers_of(const Model& model, const Layout& layout) {
  std::int64_t layers = 0;
  for (const LayerRange& range : stage_layers(model, layout))
    layers += static_cast<std::int64_t>(range.last - range.first);
  return std::max<std::int64_t>(1, layers);
}

}  // namespace

double StageCosts::busy(Stage stage) const {
  const PassCosts& pass = of(stage);
  double seconds = pass.device;
  for (std::size_t i = 0; i < groups; ++i)
    if (static_cast<Group>(i) != Group::data) seconds += pass.link[i];
  return seconds;
}

double StageCosts::pace(Stage stage) const {
  const PassCosts& pass = of(stage);
  return busy(stage) + std::max(0.0, reckon::of(pass.link, Group::data) - pass.device);
}

StageCosts stage_costs(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware,
                       Places places) {
  const Compiled compiled = compile(model, workload, target, places);
  return stage_costs(model, compiled, time_program(compiled.lowered, hardware));
}

StageCosts stage_costs(const Model& model, const Compiled& compiled, const Timing& timing) {
  StageCosts costs;
  costs.memory = memory_of(compiled);
  costs.layers = layers_of(model, compiled.lowered.workload.layout);
  costs.assumptions = timing.assumptions;
  std::map<DType, double> products;  // FLOPs
  for (const OpTime& time : timing.ops) {
    const Op& op = compiled.lowered.ops[time.op];
    const Cost cost = op.operation->cost(compiled.lowered, op);
    const double count = static_cast<double>(time.count), matmul = number(cost.matmul.value());
    // An optimizer's products, such as muon's, are none of the network's.
    if (matmul > 0 && op.stage != Stage::optimizer) products[time.factors] += matmul * count;
    if (cost.group == Group::none) {
      costs.passes[static_cast<std::size_t>(op.stage)].device += time.seconds() * count;
      continue;
    }
    // Sums of gradients belong to the backward pass, wherever they are written; what is gathered behind the
    // optimizer's step to that.
    const bool once = once_a_step(op) || op.stage == Stage::optimizer;
    const bool sum = op.operation != &all_gather_operation;
    const Stage stage = op.stage == Stage::optimizer && sum ? Stage::backward : op.stage;
    PassCosts& pass = costs.passes[static_cast<std::size_t>(stage)];
    of(once ? pass.once_link : pass.link, cost.group) += time.seconds() * count;
    of(once ? pass.once_sent : pass.sent, cost.group) += number(cost.sent) * count;
  }
  const auto most = std::max_element(products.begin(), products.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != products.end()) costs.products = most->first;
  return costs;
}

double waited(double link, double computing, double messages) {
  return std::max(0.0, link - computing) + std::min(link, computing) / messages;
}

double PassSeconds::total() const {
  double seconds = device;
  for (double one : link) seconds += one;
  return seconds;
}

double StepSeconds::waiting(Group group) const {
  double seconds = 0;
  for (const PassSeconds& pass : passes) seconds += of(pass.link, group);
  return seconds;
}

double StepSeconds::total() const {
  double seconds = bubble;
  for (const PassSeconds& pass : passes) seconds += pass.total();
  return seconds;
}

std::vector<StageKind> different_stages(const Model& model, const Layout& layout) {
  if (layout.pipeline == 1) return {{0, 1}};
  const Layers& layers = model.layers;
  // Each layer by the first one that is like it.
  std::vector<std::size_t> like(layers.size()), found;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const auto same = std::find_if(found.begin(), found.end(), [&](std::size_t j) { return layers[j] == layers[i]; });
    like[i] = same == found.end() ? i : *same;
    if (same == found.end()) found.push_back(i);
  }
  std::map<std::vector<std::size_t>, std::size_t> kinds;  // of those between the first and the last stage
  std::vector<StageKind> stages{{0, 1}};
  Layout at = layout;
  for (at.stage = 1; at.stage < layout.pipeline - 1; ++at.stage) {
    std::vector<std::size_t> own;
    for (const LayerRange& range : stage_layers(model, at)) {
      own.insert(own.end(), like.begin() + static_cast<std::ptrdiff_t>(range.first),
                 like.begin() + static_cast<std::ptrdiff_t>(range.last));
      own.push_back(layers.size());  // the end of a piece
    }
    const auto [kind, is_new] = kinds.try_emplace(std::move(own), stages.size());
    if (is_new) {
      stages.push_back({at.stage, 1});
    } else {
      ++stages[kind->second].count;
    }
  }
  stages.push_back({layout.pipeline - 1, 1});
  return stages;
}

Step put_together(const Workload& workload, const std::vector<StageKind>& stages,
                  const std::vector<StageCosts>& costs) {
  const Layout& layout = workload.layout;
  Step step;
  step.workload = workload;
  std::size_t slowest = 0;
  const auto pace = [&](std::size_t at) { return costs[at].pace(Stage::forward) + costs[at].pace(Stage::backward); };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (pace(i) > pace(slowest)) slowest = i;
    if (i == 0 || costs[i].memory.total() > step.memory.total()) {
      step.memory = costs[i].memory;
      step.memory_stage = stages[i].stage;
    }
  }
  const StageCosts& stage = costs[slowest];
  step.slowest_stage = stages[slowest].stage;
  step.products = stage.products;
  const double m = static_cast<double>(layout.micro_batches), layers = static_cast<double>(stage.layers);
  StepSeconds& seconds = step.seconds;
  double data = 0;
  for (const Stage at : {Stage::forward, Stage::backward, Stage::optimizer}) {
    const PassCosts& pass = stage.of(at);
    PassSeconds& result = seconds.passes[static_cast<std::size_t>(at)];
    const double times = at == Stage::optimizer ? 1 : m;
    result.device = times * pass.device;
    for (std::size_t i = 0; i < groups; ++i) {
      step.sent[i] += times * pass.sent[i] + pass.once_sent[i];
      result.link[i] = times * pass.link[i] + pass.once_link[i];
    }
    // What runs once a step has the computing that each micro-batch's own exchange leaves of one pass.
    double& waiting = of(result.link, Group::data);
    data += waiting;
    const PassCosts& beside = at == Stage::optimizer ? stage.of(Stage::forward) : pass;
    const double each = of(pass.link, Group::data), free = std::max(0.0, beside.device - of(beside.link, Group::data));
    waiting = waited(m * each, m * pass.device, m * layers) + waited(of(pass.once_link, Group::data), free, layers);
  }
  seconds.hidden = data - seconds.waiting(Group::data);
  // Filling and draining a pipeline (Narayanan et al. 2021, section 2.2).
  seconds.bubble =
      static_cast<double>(layout.pipeline - 1) / static_cast<double>(layout.virtual_stages) * pace(slowest);
  return step;
}

Step step_of(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware) {
  const std::vector<StageKind> stages = different_stages(model, workload.layout);
  std::vector<StageCosts> costs;
  for (const StageKind& kind : stages) {
    Workload of_stage = workload;
    of_stage.layout.stage = kind.stage;
    costs.push_back(stage_costs(model, of_stage, target, hardware));
  }
  return put_together(workload, stages, costs);
}

double headline_flops(const Model& model, Workload workload) {
  const Layout layout = workload.layout;
  workload.layout = {};
  workload.recompute = Recompute::none;
  workload.optimizer = Optimizer::adamw;  // which multiplies no matrices: the network's products alone
  const double each = number(read_ledger(logical_program(model, workload)).matmul_full);
  return each * static_cast<double>(layout.data * layout.micro_batches);
}

}  // namespace reckon
