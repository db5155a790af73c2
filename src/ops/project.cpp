// Costs of the lowered products: the same FLOPs as the products they stand for, at the past of this run.
#include "ops/project.h"

#include "ops/rules.h"
#include "ops/runtime.h"

#include <algorithm>

namespace reckon {
namespace {

Shape runtime_shape(const Program& program, TensorId id) {
  Shape out;
  for (const Dim& dim : program[id].shape) out.push(at_past(program, dim));
  return out;
}

void add_epilogue(Cost& cost, const Op& op, const Shape& y) {
  const auto has = [&](std::size_t input) { return op.inputs[input] != no_tensor; };
  std::int64_t operations = 0;
  if (has(project_input::bias)) operations += 1;
  if (has(project_input::residual)) operations += 1;
  const auto& a = op.attributes<ProjectAttributes>();
  if (a.scale != 1.0) operations += 1;
  if (a.activate) operations += activation_operations(*a.activate, has(project_input::gate)).forward;
  if (operations > 0) cost.elementwise = y.product(operations);
}

// Of a tensor at the past of this run. A bias is float32 in memory, whatever its file has.
Count runtime_bytes(const Program& program, const Op& op, std::size_t input) {
  const TensorId id = op.inputs[input];
  if (id == no_tensor) return 0;
  Tensor tensor = program[id];
  tensor.shape = runtime_shape(program, id);
  if (input == project_input::bias) tensor.dtype = DType::float32;
  return bytes(tensor);
}

Cost project_cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape x = runtime_shape(program, op.inputs[project_input::x]);
  Tensor y = program[op.outputs[0]];
  y.shape = runtime_shape(program, op.outputs[0]);
  cost.matmul = Formula(x.product(2).times(y.shape[-1]));
  add_epilogue(cost, op, y.shape);
  for (std::size_t input = 0; input < project_input::count; ++input) cost.read += runtime_bytes(program, op, input);
  cost.weights = runtime_bytes(program, op, project_input::weight) + runtime_bytes(program, op, project_input::bias);
  cost.written = bytes(y);
  return cost;
}

// Of the weights and biases, as many experts are read as rows chose.
Cost grouped_project_cost(const Program& program, const Op& op) {
  Cost cost = project_cost(program, op);
  const Shape& rows = program[op.inputs[project_input::x]].shape;
  const std::int64_t experts = program[op.inputs[project_input::weight]].shape[0].size;
  const Count most = std::min<Count>(experts, rows.leading().product().value());
  const Count all = cost.weights;
  cost.read_least = cost.read - all + all / experts * rows[-2].size;
  cost.weights = all / experts * rows[-2].size;
  cost.read += all / experts * most - all;
  // Where there are identity experts too, none of the others may have been chosen.
  if (program[op.inputs[project_input::offsets]].shape[0].size > experts + 1)
    cost.matmul_least = cost.elementwise_least = cost.read_least = cost.weights = 0;
  return cost;
}

Cost weight_gradient_cost(const Program& program, const Op& op) {
  const Shape& y = program[op.outputs[0]].shape;
  Formula sum = op.inputs[2] != no_tensor ? Formula(y.product()) : Formula();
  return streaming_cost(program, op, std::move(sum), program[op.inputs[0]].shape.product(2).times(y[-1]));
}

}  // namespace

const OperationOf<ProjectAttributes> project_operation{{"project", project_cost, nullptr}};
const OperationOf<ProjectAttributes> grouped_project_operation{{"grouped_project", grouped_project_cost, nullptr}};
const OperationOf<> weight_gradient_operation{{"weight_gradient", weight_gradient_cost, nullptr}};

}  // namespace reckon
