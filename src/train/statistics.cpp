// Walks the forward ops of the lowered program and reads their tensors where these still lie.
#include "train/statistics.h"

#include "ops/alibi.h"
#include "lowering/regions.h"
#include "ops/attend.h"
#include "ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

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

// The mean entropy of each head over some queries of the first sequence.
std::vector<double> head_entropy(const Executable& executable, const Op& op) {
  const Program& program = executable.program();
  const std::vector<double> query = executable.values(op.inputs[0]), keys = executable.values(op.inputs[1]);
  const std::vector<double> log_sum_exp = executable.values(op.outputs[1]);
  const Shape& shape = program[op.inputs[0]].shape;
  const std::int64_t tokens = shape[1].size, heads = shape[2].size, width = shape[3].size;
  const auto& rule = op.attributes<AttendAttributes>().rule;
  const std::int64_t key_heads = program[op.inputs[1]].shape[2].size, group = heads / key_heads;
  constexpr std::int64_t queries = 32;
  const std::int64_t step = std::max<std::int64_t>(1, tokens / queries);
  std::vector<double> entropy;
  for (std::int64_t h = 0; h < heads; ++h) {
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t t = tokens - 1; t >= 0; t -= step, ++count) {
      const double kept_sum = log_sum_exp[static_cast<std::size_t>(h * tokens + t)];
      const double* from = &query[static_cast<std::size_t>((t * heads + h) * width)];
      for (std::int64_t j = first_seen(rule.mask, t); j <= t; ++j) {
        const double* key = &keys[static_cast<std::size_t>((j * key_heads + h / group) * width)];
        double score = rule.scale * std::inner_product(from, from + width, key, 0.0);
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
  const Executable& executable = trainer.executable();
  const Program& program = executable.program();
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
      layers[op.scope.layer].head_entropy = head_entropy(executable, op);
    }
  }
  std::vector<LayerStatistics> all;
  for (auto& [layer, statistics] : layers) {
    if (const TensorId id = leaving[layer]; readable(id)) {
      const std::vector<double> values = executable.values(id);
      double squares = 0;
      for (const double value : values) {
        squares += value * value;
        statistics.largest = std::max(statistics.largest, std::fabs(value));
      }
      statistics.rms = std::sqrt(squares / static_cast<double>(values.size()));
    }
    all.push_back(std::move(statistics));
  }
  return all;
}

}  // namespace reckon
