// Lowering leaves the tensors of the logical program where they are and adds its own behind them, so that one id is the
// same tensor on both sides. What an op fused is compared by the last of it.
#include "run/verify_reference.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "compile/compile.h"
#include "passes/expand.h"
#include "run/engine.h"
#include "run/verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace reckon {
namespace {

// The elements of a view in row-major order.
std::vector<double> read(const View& view, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(view.rows() * view.width()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at[Shape::capacity] = {};
    for (int d = view.rank - 1; d >= 0; --d) {
      at[d] = rest % view.size[d];
      rest /= view.size[d];
    }
    std::int64_t offset = 0;
    for (int d = 0; d < view.rank; ++d) offset += at[d] * view.stride[d];
    if (view.pages != nullptr) {
      offset = view.position(at[0], at[1]) - view.floats();
      for (int d = 2; d < view.rank; ++d) offset += at[d] * view.stride[d];
    }
    values[i] = dtype == DType::int32 ? static_cast<double>(view.integers()[offset])
                                      : static_cast<double>(view.floats()[offset]);
  }
  return values;
}

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

ReferenceComparison compare_with_reference(const Model& model, Weights weights, const CompareOptions& options) {
  ReferenceComparison result;
  result.tokens = options.tokens > 0 ? options.tokens : std::min<std::int64_t>(16, model.context);
  std::vector<std::vector<double>> expected;  // by tensor; of what no op of the cpu writes, nothing

  Inspection inspection(options.sabotage);
  inspection.look = [&](const Executor& executor, const Op& op) {
    std::optional<Distance> furthest;
    for (const TensorId id : op.outputs) {
      const auto i = static_cast<std::size_t>(id);
      if (id == no_tensor || i >= expected.size()) continue;
      const Tensor& tensor = executor.program()[id];
      const std::vector<double> found = read(executor.view(id), tensor.dtype);
      if (found.size() != expected[i].size()) {
        throw Error(fmt::format("{} has {} elements on the cpu and {} on the reference", full_name(tensor),
                                found.size(), expected[i].size()));
      }
      const double relative = distance(found, expected[i]);
      if (!furthest || relative > furthest->relative) furthest = {{name_of(op), full_name(tensor), relative}};
    }
    if (!furthest) return;
    ReferenceComparison::Kind& kind = result.kinds[std::string(op.operation->name)];
    if (kind.ops++ == 0 || furthest->relative > kind.largest.relative) kind.largest = *furthest;
    if (!result.first && furthest->relative > result.tolerance) result.first = furthest;
  };

  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.capacity = engine_options.chunk = result.tokens;
  engine_options.cancel = options.cancel;
  engine_options.inspection = &inspection;
  Engine engine(model, std::move(weights), engine_options);
  const std::vector<std::int32_t> ids = verify_ids(model, result.tokens, options.seed);
  const Program& lowered = engine.core().executor(1, result.tokens, Logits::all).program();
  const Program logical = expand(logical_program(model, lowered.workload));
  std::vector<bool> wanted(lowered.tensors.size(), false);
  for (const Op& op : lowered.ops) {
    for (const TensorId id : op.outputs) {
      if (id != no_tensor) wanted[static_cast<std::size_t>(id)] = true;
    }
  }
  expected.resize(logical.tensors.size());
  ReferenceOptions asked;
  asked.after = [&](const Op& op, const ReferenceValues& values) {
    if (options.cancel != nullptr && *options.cancel) throw Cancelled();
    for (const TensorId id : op.outputs) {
      const auto i = static_cast<std::size_t>(id);
      if (id != no_tensor && wanted[i]) expected[i] = values[i];
    }
  };
  ReferenceModel(model, engine.core().weights(), false).run(logical, {ids, {}, result.tokens}, asked);
  engine.session().run(ids, Logits::all);
  return result;
}

}  // namespace reckon
