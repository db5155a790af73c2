#include "run/attention_maps.h"

#include <algorithm>

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

AttentionMaps attention_maps(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                             const std::atomic<bool>* cancel) {
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
  options.cancel = cancel;
  Engine engine(std::move(model), options);
  engine.session().run(ids, Logits::none);
  return maps;
}

Habits habits(const AttentionMaps& maps, const AttentionMaps::Layer& layer, std::int64_t head) {
  Habits sum;
  for (std::int64_t query = 1; query < maps.tokens; ++query) {
    const auto weight = [&](std::int64_t key) { return static_cast<double>(maps.weight(layer, head, query, key)); };
    sum.itself += weight(query);
    sum.before += weight(query - 1);
    sum.first += weight(0);
  }
  const auto queries = static_cast<double>(std::max<std::int64_t>(1, maps.tokens - 1));
  return {sum.itself / queries, sum.before / queries, sum.first / queries};
}

}  // namespace reckon
