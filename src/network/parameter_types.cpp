#include "network/parameter_types.h"

#include "files/quantise.h"
#include "network/forward.h"

#include <optional>

namespace reckon {
namespace {

// type_of(tensor) of those that have one, in every layer: a folded program has each once for all layers that are alike.
template <class TypeOf>
std::shared_ptr<const ParameterTypes> types_by(const Model& model, TypeOf type_of) {
  auto types = std::make_shared<ParameterTypes>();
  Workload one_token = workload_of(Phase::decode);
  one_token.past = 0;
  const Program program = forward(model, one_token);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::parameter || tensor.storage != no_tensor) continue;
    const std::optional<DType> type = type_of(tensor);
    if (!type) continue;
    TensorKey key = key_of(tensor);
    const std::int32_t layers = tensor.repeat < 0 ? 0 : program.repeats[static_cast<std::size_t>(tensor.repeat)].layers;
    for (std::int64_t k = 0; k < program.count(tensor.repeat); ++k) {
      types->emplace(key, *type);
      key.scope.layer += layers;
    }
  }
  return types;
}

template <class Chosen>
std::shared_ptr<const ParameterTypes> types_where(const Model& model, DType type, Chosen chosen) {
  return types_by(model, [&](const Tensor& tensor) { return chosen(tensor) ? std::optional(type) : std::nullopt; });
}

}  // namespace

std::shared_ptr<const ParameterTypes> layer_matrices_as(const Model& model, DType type) {
  return types_where(model, type, [](const Tensor& tensor) {
    return tensor.scope.layer >= 0 && tensor.label.piece == Piece::weight && tensor.shape.rank() >= 2 &&
           !is_norm(tensor.scope.role) && !is_convolution(tensor.scope.role) && tensor.scope.role.part != Part::decay &&
           tensor.scope.role.part != Part::router && tensor.scope.role.part != Part::difference;
  });
}

std::shared_ptr<const ParameterTypes> quantised_as(const Model& model, DType encoding) {
  return types_by(model, [&](const Tensor& tensor) -> std::optional<DType> {
    const Role role = tensor.scope.role;
    const bool matrix = tensor.shape.rank() >= 2 && role.part != Part::router && role.part != Part::position &&
                        role.part != Part::difference;
    return matrix ? fitting(encoding, tensor.shape[tensor.shape.rank() - 1].size) : DType::float32;
  });
}

std::shared_ptr<const ParameterTypes> vectors_as(const Model& model, DType type) {
  return types_where(model, type, [](const Tensor& tensor) { return tensor.shape.rank() < 2; });
}

}  // namespace reckon
