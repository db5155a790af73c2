// The order of the passes.
#include "compile/compile.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/encoding.h"
#include "lowering/lower.h"
#include "model/sublayers.h"
#include "network/forward.h"
#include "passes/all_reduce.h"
#include "passes/data_parallel.h"
#include "passes/gather_again.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"
#include "passes/recompute.h"
#include "passes/shard.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace reckon {
namespace {

// Blocks lie within a head (or a latent), and attention in one kernel reads them. Latents are multiplied by a matrix of
// each head, too, for which targets that multiply blocks as integers have no kernel.
void check_cache(const Model& model, const Workload& workload, const Target& target) {
  const Encoding& encoding = encoding_of(workload.precision.cache);
  if (!is_quantised(workload.precision.cache) || workload.phase == Phase::train) return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("a cache in {} for {}, {}", encoding.name, model.name, why));
  };
  const auto check_widths = [&](const char* what, std::initializer_list<std::int64_t> widths) {
    for (const std::int64_t width : widths)
      if (width % encoding.elements != 0)
        refuse(fmt::format("whose {} are {} wide; expected a multiple of {}", what, width, encoding.elements));
  };
  for (const Layer& layer : model.layers.written()) {
    const auto* attention = find<Attention>(layer);
    if (attention == nullptr) continue;
    if (!target.fusions.attention)
      refuse(fmt::format("of which {} has none; expected float32, or the cpu", target.name));
    if (!attention->latent) {
      check_widths("heads", {attention->d_head, attention->d_value});
    } else if (target.integer_products) {
      refuse("whose cache holds latents; expected float32");
    } else {
      check_widths("latents", {attention->latent->kv_rank, attention->latent->d_rope});
    }
  }
}

}  // namespace

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
  check_cache(model, workload, target);
  return compile(logical_program(model, workload), target, places);
}

}  // namespace reckon
