// Lowered products: y = residual + scale · act(gate, x·Wᵀ + bias), in one pass over y while it is in cache.
//   project          x (rows × K), weight (N × K)          → (rows × N)
//   grouped_project  rows sorted by expert, weight (E × N × K), offsets (E + 1)
//   weight_gradient  dy (rows × N), x (rows × K)           → dyᵀ·x (N × K), added to the third input if there is one
// Transposed, it is x·W instead: the gradient that goes on to what a product read.
#pragma once

#include "ops/activate.h"

#include <optional>

namespace reckon {

struct ProjectAttributes {
  bool transposed = false;
  std::optional<ActivateAttributes> activate{};
  double scale = 1.0;
  bool operator==(const ProjectAttributes&) const = default;
};

extern const OperationOf<ProjectAttributes> project_operation, grouped_project_operation;
extern const OperationOf<> weight_gradient_operation;

// Inputs of both, in this order; any but x and weight may be no_tensor.
namespace project_input {
enum : std::size_t { x, weight, bias, gate, residual, offsets, count };
}

}  // namespace reckon
