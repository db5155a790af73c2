// What a step of training costs a rank of a layout: the memory of each kind that its stage of the pipeline needs, and
// the seconds of its slowest stage, with what waits and what is hidden behind computing. All of it is read off the
// programs of stages, for one micro-batch.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "lowering/target.h"
#include "memory/plan.h"
#include "time/profile.h"
#include "time/roofline.h"

namespace reckon {

inline constexpr std::size_t groups = 6;  // of Group, none among them
using ByGroup = std::array<double, groups>;
inline double& of(ByGroup& values, Group group) { return values[static_cast<std::size_t>(group)]; }
inline double of(const ByGroup& values, Group group) { return values[static_cast<std::size_t>(group)]; }

// Bytes of a rank.
struct RankMemory {
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // weights with their masters' narrow copies and constants
  std::int64_t cache = 0;                                  // of keys and values, where a model is served
  std::int64_t activations = 0;  // of all micro-batches that are under way, with what is there for an operation alone
  std::int64_t total() const { return weights + gradients + optimizer + cache + activations; }
};

// Of a pass (forward, backward, optimizer), for one micro-batch.
struct PassCosts {
  double device = 0;                 // seconds without any link
  ByGroup link{}, sent{};            // seconds and bytes
  ByGroup once_link{}, once_sent{};  // of what runs once a step, however many micro-batches there are
};

// The program of one rank.
struct StageCosts {
  RankMemory memory;
  std::array<PassCosts, 3> passes;       // by Stage
  std::int64_t layers = 1;               // that it has: data ranks exchange parameters and gradients layer by layer
  DType products = DType::float32;       // the type in which most FLOPs of products are computed
  std::vector<std::string> assumptions;  // about the device, a sentence each
  const PassCosts& of(Stage stage) const { return passes[static_cast<std::size_t>(stage)]; }
  // Seconds of a micro-batch that nothing hides: all but what ranks of `data` exchange.
  double busy(Stage stage) const;
  // …and what these take longer than there is computing: from one micro-batch to the next.
  double pace(Stage stage) const;
};
StageCosts stage_costs(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware,
                       Places places = Places::all);
// The same of a program that is compiled and timed.
StageCosts stage_costs(const Model& model, const Compiled& compiled, const Timing& timing);

// Seconds that a rank waits for `link` seconds of exchange in so many messages beside as many pieces of computing: a
// layer's weights come while the layer before it computes, its gradients leave while the next one does. The first
// weights and the last gradients have nothing to run beside: l + (n − 1)·max(0, l − c) with l and c of one of n.
double waited(double link, double computing, double messages);

// What a pass of a step takes, over all micro-batches.
struct PassSeconds {
  double device = 0;  // computing
  ByGroup link{};     // waiting for tensor, context, expert and pipeline ranks; of data ranks what is not hidden
  double total() const;
};

// Seconds of a step, of the slowest stage: what they go to.
struct StepSeconds {
  std::array<PassSeconds, 3> passes;  // by Stage
  double bubble = 0;                  // waiting for the pipeline to fill and to drain
  double hidden = 0;                  // of what data ranks exchange, beside computing: no part of the total
  double computing() const { return passes[0].device + passes[1].device; }
  double optimizer() const { return passes[2].device; }
  double waiting(Group group) const;
  double total() const;
};

struct Step {
  Workload workload;
  RankMemory memory;              // of the rank that needs the most
  std::int64_t memory_stage = 0;  // …which is of this stage
  StepSeconds seconds;
  std::int64_t slowest_stage = 0;
  DType products = DType::float32;  // of the slowest stage
  ByGroup sent{};                   // bytes that a rank of the slowest stage sends in a step
};

// A stage of a pipeline, and how many have the same layers, embedding and head as it: it is the first of them, with the
// most micro-batches under way.
struct StageKind {
  std::int64_t stage = 0, count = 1;
};
std::vector<StageKind> different_stages(const Model& model, const Layout& layout);

// Puts the stages' costs together. What ranks of `data` exchange runs beside computing, of the pass that it belongs to
// and of nothing else: what ZeRO 3 gathers and ZeRO 2 and 3 sum, beside each micro-batch's forward or backward pass;
// sums of gradients once a step beside the last micro-batch's backward pass; weights that are gathered behind the
// optimizer's step beside the next forward pass. What takes longer is waited for, and so are all other ranks.
Step put_together(const Workload& workload, const std::vector<StageKind>& stages, const std::vector<StageCosts>& costs);

// All of it for one layout.
Step step_of(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware);

// FLOPs of the network's own products in a step on all devices, every score counted, as if one device trained without
// computing anything again.
double headline_flops(const Model& model, Workload workload);

}  // namespace reckon
