// The order of the passes.
#include "compile/compile.h"

#include "lowering/lower.h"
#include "network/forward.h"
#include "passes/all_reduce.h"
#include "passes/data_parallel.h"
#include "passes/gather_again.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"
#include "passes/recompute.h"
#include "passes/shard.h"

#include <utility>

namespace reckon {

Program logical_program(const Model& model, const Workload& workload) {
  Program program = shard(forward(model, workload));
  if (workload.phase != Phase::train) return program;
  Differentiated backward = gather_again(recompute(gradient(std::move(program)), workload.recompute));
  return gather_updates(optimizer_step(share_gradients(std::move(backward))));
}

Compiled compile(const Program& logical, const Target& target, Places places) {
  const Workload& workload = logical.workload;
  Compiled compiled;
  compiled.lowered = quantise_activations(dequantise(lower(page_caches(logical, target), target), target), target);
  if (workload.phase == Phase::train) {
    if (target.masks) compiled.lowered = keep_masks(std::move(compiled.lowered));
    const DType kept = workload.precision.weights;
    if (kept != DType::float32 && target.narrow) compiled.lowered = keep_narrow(std::move(compiled.lowered), kept);
    if (workload.layout.zero == 0) compiled.lowered = sum_over_ranks(std::move(compiled.lowered));
  }
  compiled.plan = plan_memory(compiled.lowered, target, places);
  return compiled;
}

Compiled compile(const Model& model, const Workload& workload, const Target& target, Places places) {
  return compile(logical_program(model, workload), target, places);
}

}  // namespace reckon
