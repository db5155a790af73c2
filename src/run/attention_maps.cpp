#include "run/attention_maps.h"

#include "backend/backend.h"
#include "backend/inspection.h"
#include "compile/compile.h"
#include "files/checked.h"
#include "ops/attention.h"

namespace reckon {

std::int64_t attention_maps_bytes(const Model& model, std::int64_t tokens) {
  const std::unique_ptr<Backend> backend = make_backend(Device::reference, 1);
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = tokens;
  workload.past = 0;
  const Plan plan = compile(model, workload, backend->target(), Places::none).plan;
  const char* const what = "the memory of attention maps";
  return backend->memory_bytes(
      checked_add(checked_add(plan.weights, plan.constants, what), checked_add(plan.arena, plan.cache, what), what));
}

AttentionMaps attention_maps(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids) {
  AttentionMaps maps;
  maps.tokens = std::ssize(ids);
  Inspection inspection;
  inspection.observe = [&](const Executable& executable, const Op& op) {
    if (op.operation != &softmax_operation || op.scope.layer < 0) return;
    const Shape& shape = executable.program()[op.outputs[0]].shape;  // 1 × H × T × T
    maps.layers.push_back({op.scope.layer, shape[1].size, std::ssize(maps.weights)});
    for (const double weight : executable.values(op.outputs[0])) maps.weights.push_back(static_cast<float>(weight));
  };
  EngineOptions options;
  options.device = Device::reference;
  options.threads = 1;
  options.capacity = options.chunk = maps.tokens;
  options.inspection = &inspection;
  Engine engine(std::move(model), options);
  engine.session().run(ids, Logits::none);
  return maps;
}

}  // namespace reckon
