// Lowering leaves the tensors of the logical program where they are and adds its own behind them, so that one id is the
// same tensor on both sides. What an op fused is compared by the last of it.
#include "run/verify_reference.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "run/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace reckon {
namespace {

double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  double furthest = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::fabs(found[i] - expected[i]);
    if (!(off <= furthest)) furthest = off;  // what is not a number stays
    largest = std::max(largest, std::fabs(expected[i]));
    if (std::isnan(furthest)) return HUGE_VAL;
  }
  return largest > 0 ? furthest / largest : furthest;
}

}  // namespace

std::int64_t ReferenceComparison::ops() const {
  return std::accumulate(kinds.begin(), kinds.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& kind) { return sum + kind.second.ops; });
}

const Distance& ReferenceComparison::largest() const {
  const auto nearer = [](const auto& a, const auto& b) {
    return a.second.largest.relative < b.second.largest.relative;
  };
  return std::max_element(kinds.begin(), kinds.end(), nearer)->second.largest;
}

ReferenceComparison compare_with_reference(const Model& model, Weights weights, const VerifyOptions& options) {
  ReferenceComparison result;
  result.tokens = options.tokens > 0 ? options.tokens : std::min<std::int64_t>(16, model.context);
  const std::vector<std::int32_t> ids = verify_ids(model, result.tokens, options.seed);
  const auto loaded = std::make_shared<const LoadedModel>(model, std::move(weights));
  const auto run_on = [&](Device device, Inspection& inspection) {
    EngineOptions engine_options;
    engine_options.device = device;
    engine_options.threads = options.threads;
    engine_options.capacity = engine_options.chunk = result.tokens;
    engine_options.cancel = options.cancel;
    engine_options.inspection = &inspection;
    Engine(loaded, engine_options).session().run(ids, Logits::all);
  };

  std::map<TensorId, std::vector<double>> expected;
  Inspection on_reference;
  on_reference.observe = [&](const Executable& executable, const Op& op) {
    for (const TensorId id : op.outputs) {
      if (id != no_tensor) expected[id] = executable.values(id);
    }
  };
  run_on(Device::reference64, on_reference);

  Inspection on_cpu(options.sabotage);
  on_cpu.observe = [&](const Executable& executable, const Op& op) {
    std::optional<Distance> furthest;
    for (const TensorId id : op.outputs) {
      const auto other = expected.find(id);
      if (other == expected.end()) continue;
      const Tensor& tensor = executable.program()[id];
      const std::vector<double> found = executable.values(id);
      if (found.size() != other->second.size()) {
        throw Error(fmt::format("{} has {} elements on the cpu and {} on the reference", full_name(tensor),
                                found.size(), other->second.size()));
      }
      const double relative = distance(found, other->second);
      if (!furthest || relative > furthest->relative) furthest = {{name_of(op), full_name(tensor), relative}};
    }
    if (!furthest) return;
    ReferenceComparison::Kind& kind = result.kinds[std::string(op.operation->name)];
    if (kind.ops++ == 0 || furthest->relative > kind.largest.relative) kind.largest = *furthest;
    if (!result.first && furthest->relative > result.tolerance) result.first = furthest;
  };
  run_on(Device::cpu, on_cpu);
  return result;
}

}  // namespace reckon
