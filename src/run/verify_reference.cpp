// Lowering leaves the tensors of the logical program where they are and adds its own behind them, so that one id is the
// same tensor on both sides. What an op fused is compared by the last of it. The cpu runs first: where its products
// read activations in 8 bits, the reference's read the same integers, or one that lies between two of them would be
// rounded up here and down there; and routers choose by the cpu's scores, or a token between two experts would go to
// one here and to the other there.
#include "run/verify_reference.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "ops/mixture.h"
#include "ops/project.h"
#include "ops/quantise.h"
#include "run/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace reckon {
namespace {

using Values = std::vector<double>;

// The largest of `off`, by the largest size that is expected.
template <class Off>
double furthest_of(const Values& expected, const Off& off) {
  double furthest = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double o = off(i);
    if (!(o <= furthest)) furthest = o;  // what is not a number stays
    largest = std::max(largest, std::fabs(expected[i]));
    if (std::isnan(furthest)) return HUGE_VAL;
  }
  return largest > 0 ? furthest / largest : furthest;
}

double distance(const Values& found, const Values& expected) {
  return furthest_of(expected, [&](std::size_t i) { return std::fabs(found[i] - expected[i]); });
}

// What is rounded to 8 bits may be off by half a step, of which its block's largest has 127; this is what lies beyond.
double distance_beyond_rounding(const Values& found, const Values& expected) {
  constexpr std::size_t block = 32;
  Values half(expected.size() / block);
  for (std::size_t i = 0; i < expected.size(); ++i)
    half[i / block] = std::max(half[i / block], std::fabs(expected[i]) / 127 / 2);
  return furthest_of(expected,
                     [&](std::size_t i) { return std::max(std::fabs(found[i] - expected[i]) - half[i / block], 0.0); });
}

// What an op of the cpu wrote, and how far the reference was found to be from it.
struct Output {
  TensorId id;  // on the reference, too
  std::string tensor;
  bool rounded;
  Values values;
  std::optional<double> distance;
};

struct Done {
  const Operation* operation;
  std::string op;
  std::vector<Output> outputs;
};

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

  std::vector<Done> all;
  std::map<TensorId, Values> rounded;                       // by what the cpu made of them
  std::map<std::pair<TensorId, TensorId>, TensorId> reads;  // by what was rounded and the weight: the rounded
  std::map<TensorId, TensorId> source;                      // of what was rounded
  Inspection on_cpu(options.sabotage);
  on_cpu.observe = [&](const Executable& executable, const Op& op) {
    const Program& program = executable.program();
    if (executable.rounds(op)) result.tolerance = ReferenceComparison::in_bfloat16;
    Done done{op.operation, name_of(op), {}};
    if (op.operation == &quantise_operation) {
      const TensorId x = op.inputs[0], to = op.outputs[0];
      source[to] = x;
      done.outputs.push_back({x, full_name(program[x]), true, rounded[to] = executable.values(to), {}});
    } else {
      for (const TensorId id : op.outputs)
        if (id != no_tensor) done.outputs.push_back({id, full_name(program[id]), false, executable.values(id), {}});
    }
    if (const auto from = source.find(op.inputs.empty() ? no_tensor : op.inputs[0]); from != source.end())
      reads[{from->second, op.inputs[project_input::weight]}] = from->first;
    all.push_back(std::move(done));
  };
  run_on(Device::cpu, on_cpu);

  std::multimap<TensorId, Output*> by_id;
  for (Done& done : all)
    for (Output& output : done.outputs) by_id.emplace(output.id, &output);
  Inspection on_reference;
  on_reference.first_input = [&](const Op& op) -> Values* {
    if (op.operation == &route_operation) {
      const auto scores = by_id.find(op.inputs[0]);
      return scores == by_id.end() ? nullptr : &scores->second->values;
    }
    if (op.inputs.size() < 2) return nullptr;
    const auto found = reads.find({op.inputs[0], op.inputs[1]});
    return found == reads.end() ? nullptr : &rounded.at(found->second);
  };
  on_reference.observe = [&](const Executable& executable, const Op& op) {
    for (const TensorId id : op.outputs) {
      if (id == no_tensor || by_id.find(id) == by_id.end()) continue;
      const Values expected = executable.values(id);
      const auto [first, last] = by_id.equal_range(id);
      for (auto each = first; each != last; ++each) {
        Output& output = *each->second;
        if (output.values.size() != expected.size()) {
          throw Error(fmt::format("{} has {} elements on the cpu and {} on the reference", output.tensor,
                                  output.values.size(), expected.size()));
        }
        output.distance = (output.rounded ? distance_beyond_rounding : distance)(output.values, expected);
      }
    }
  };
  run_on(Device::reference64, on_reference);

  for (const Done& done : all) {
    std::optional<Distance> furthest;
    for (const Output& output : done.outputs) {
      if (output.distance && (!furthest || *output.distance > furthest->relative))
        furthest = {{done.op, output.tensor, *output.distance}};
    }
    if (!furthest) continue;
    ReferenceComparison::Kind& kind = result.kinds[std::string(done.operation->name)];
    if (kind.ops++ == 0 || furthest->relative > kind.largest.relative) kind.largest = *furthest;
    if (!result.first && furthest->relative > result.tolerance) result.first = furthest;
  }
  return result;
}

}  // namespace reckon
