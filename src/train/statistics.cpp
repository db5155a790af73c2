// Walks the forward ops of the lowered program and reads their tensors where these still lie.
#include "train/statistics.h"

#include "backend/cpu/alibi.h"
#include "backend/cpu/vectors.h"
#include "lowering/regions.h"
#include "ops/attend.h"
#include "ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace reckon {
namespace {

// Tensors whose memory the backward pass reads: nothing has been put there since.
std::vector<bool> kept(const Program& program) {
  std::vector<bool> found(program.tensors.size(), false);
  for (const Op& op : program.ops) {
    if (op.stage != Stage::backward) continue;
    for (TensorId id : op.inputs) {
      if (id != no_tensor) found[static_cast<std::size_t>(placement(program, id).root)] = true;
    }
  }
  return found;
}

struct Rows {
  const float* data;
  Strides strides;
  const float* at(std::int64_t token, std::int64_t head) const { return data + token * strides[1] + head * strides[2]; }
};

// The mean entropy of each head over some queries of the first sequence.
std::vector<double> head_entropy(const Executor& executor, const Op& op) {
  const Program& program = executor.program();
  const auto rows = [&](TensorId id) {
    return Rows{reinterpret_cast<const float*>(executor.data(id)), strides_of(program[id])};
  };
  const Rows query = rows(op.inputs[0]), keys = rows(op.inputs[1]);
  const auto* log_sum_exp = reinterpret_cast<const float*>(executor.data(op.outputs[1]));
  const Shape& shape = program[op.inputs[0]].shape;
  const std::int64_t tokens = shape[1].size, heads = shape[2].size, width = shape[3].size;
  const auto& rule = op.attributes<AttendAttributes>().rule;
  const std::int64_t group = heads / program[op.inputs[1]].shape[2].size, window = rule.mask.window;
  constexpr std::int64_t queries = 32;
  const std::int64_t step = std::max<std::int64_t>(1, tokens / queries);
  std::vector<double> entropy;
  for (std::int64_t h = 0; h < heads; ++h) {
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t t = tokens - 1; t >= 0; t -= step, ++count) {
      const auto kept_sum = static_cast<double>(log_sum_exp[h * tokens + t]);
      for (std::int64_t j = window > 0 ? std::max<std::int64_t>(0, t - window + 1) : 0; j <= t; ++j) {
        double score = rule.scale * static_cast<double>(vector_dot(query.at(t, h), keys.at(j, h / group), width));
        if (rule.softcap != 0.0) score = rule.softcap * std::tanh(score / rule.softcap);
        if (rule.alibi != 0.0)
          score += rule.alibi * static_cast<double>(alibi_slope(h, heads)) * static_cast<double>(j - t);
        sum -= std::exp(score - kept_sum) * (score - kept_sum);
      }
    }
    entropy.push_back(sum / static_cast<double>(count));
  }
  return entropy;
}

}  // namespace

std::vector<LayerStatistics> layer_statistics(const Trainer& trainer) {
  const Executor& executor = trainer.executor();
  const Program& program = executor.program();
  const std::vector<bool> there = kept(program);
  const auto readable = [&](TensorId id) { return there[static_cast<std::size_t>(placement(program, id).root)]; };
  std::map<std::int32_t, LayerStatistics> layers;
  std::map<std::int32_t, TensorId> leaving;  // what the last forward op of each layer made
  for (const Op& op : program.ops) {
    if (op.stage != Stage::forward || op.scope.layer < 0) continue;
    if (op.operation == &narrow_operation) {
      // In the type that it is kept in.
      if (TensorId& id = leaving[op.scope.layer]; op.inputs[0] == placement(program, id).root) id = op.outputs[0];
      continue;
    }
    leaving[op.scope.layer] = op.outputs[0];
    layers[op.scope.layer].layer = op.scope.layer;
    if (op.operation == &attend_operation && op.outputs.size() > 1 && readable(op.inputs[0]) &&
        readable(op.inputs[1])) {
      layers[op.scope.layer].head_entropy = head_entropy(executor, op);
    }
  }
  std::vector<LayerStatistics> all;
  for (auto& [layer, statistics] : layers) {
    if (const TensorId id = leaving[layer]; readable(id)) {
      const std::byte* values = executor.data(id);
      const std::int64_t n = program[id].shape.elements();
      const Encoding& encoding = encoding_of(program[id].dtype);
      double squares = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(decode_element(encoding, values, i));
        squares += value * value;
        statistics.largest = std::max(statistics.largest, std::fabs(value));
      }
      statistics.rms = std::sqrt(squares / static_cast<double>(n));
    }
    all.push_back(std::move(statistics));
  }
  return all;
}

}  // namespace reckon
