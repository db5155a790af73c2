// What outlives a run is moved into the values that the evaluation works on, and back.
#include "run/reference_model.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "network/forward.h"
#include "ops/adamw.h"
#include "run/elements.h"
#include "run/inputs.h"

#include <algorithm>
#include <utility>

namespace reckon {
namespace {

std::vector<double> doubles(std::span<const float> values) { return {values.begin(), values.end()}; }
std::vector<double> doubles(std::span<const std::int32_t> values) { return {values.begin(), values.end()}; }

}  // namespace

ReferenceModel::ReferenceModel(const Model& model, const Weights& weights, bool float32)
    : model_(model), float32_(float32), ropes_(distinct_ropes(model)) {
  const Count bytes = Count(weights.elements()) * 8, memory = machine_memory();
  if (bytes > memory) {
    throw Error(
        fmt::format("the weights of {} take {} on the reference, 8 bytes each, but this machine has {} of memory",
                    model.name, binary_bytes(bytes), binary_bytes(memory)));
  }
  for (const TensorKey& key : weights.keys()) {
    Elements elements(weights[key]);
    std::vector<double>& values = parameters_[key];
    values.resize(memory_size(elements.count(), "the elements of a parameter"));
    std::generate(values.begin(), values.end(), [&] { return static_cast<double>(elements.next()); });
  }
}

ReferenceModel::Kept* ReferenceModel::home(const Tensor& tensor) {
  switch (tensor.kind) {
    case TensorKind::parameter:
      return &parameters_;
    case TensorKind::cache:
      return tensor.storage == no_tensor ? &caches_ : nullptr;
    case TensorKind::optimizer_state:
      return &moments_;
    default:
      return nullptr;
  }
}

std::vector<double> ReferenceModel::given(const Program& program, TensorId id, const Inputs& inputs) const {
  const Tensor& tensor = program[id];
  const Workload& workload = program.workload;
  if (tensor.kind == TensorKind::constant) {
    const std::int64_t table = rope_table_index(program, id);
    if (table < 0) return parameters_.at(key_of(tensor));
    const std::int64_t rows = tensor.shape[0].size;
    return doubles(rope_rows(ropes_[static_cast<std::size_t>(table)], 0, rows, std::max(rows, inputs.length)));
  }
  if (tensor.label.piece == Piece::ids) return doubles(inputs.ids);
  if (tensor.label.piece == Piece::labels) return doubles(inputs.labels);
  const auto elements = static_cast<std::size_t>(tensor.shape.elements());
  if (tensor.dtype == DType::int32) {
    std::vector<std::int32_t> positions(elements);
    fill_positions(model_, tensor, workload.past, workload.tokens, reinterpret_cast<std::byte*>(positions.data()));
    return doubles(positions);
  }
  std::vector<float> sinusoids(elements);
  fill_positions(model_, tensor, workload.past, workload.tokens, reinterpret_cast<std::byte*>(sinusoids.data()));
  return doubles(sinusoids);
}

std::vector<double> ReferenceModel::run(const Program& program, const Inputs& inputs, ReferenceOptions options) {
  options.float32 = float32_;
  ReferenceValues values(program.tensors.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const bool is_given = tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant;
    if (is_given && tensor.storage == no_tensor) values[i] = given(program, static_cast<TensorId>(i), inputs);
    if (Kept* kept = home(tensor)) values[i] = std::move((*kept)[key_of(tensor)]);
  }
  const auto& stages = options.stages;
  const bool backward = stages.size() == 0 || std::find(stages.begin(), stages.end(), Stage::backward) != stages.end();
  const auto gradients = [&](const auto& body) {
    for (const Op& op : program.ops) {
      if (op.operation == &adamw_operation)
        body(gradients_[key_of(program[op.inputs[0]])], values[static_cast<std::size_t>(op.inputs[1])]);
    }
  };
  if (!backward) gradients([](const std::vector<double>& kept, std::vector<double>& value) { value = kept; });
  const auto bring_back = [&] {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (Kept* kept = home(program.tensors[i])) (*kept)[key_of(program.tensors[i])] = std::move(values[i]);
    }
  };
  try {
    evaluate(program, values, options);
  } catch (...) {
    bring_back();
    throw;
  }
  if (backward) gradients([](std::vector<double>& kept, const std::vector<double>& value) { kept = value; });
  std::vector<double> output = std::move(values[static_cast<std::size_t>(program.output)]);
  bring_back();
  return output;
}

}  // namespace reckon
