#include "ops/adamw.h"

namespace reckon {
namespace {

Cost norm_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[1]].shape.product(2);
  add_traffic(cost, program, op);
  return cost;
}

// Per element:  g ← c·g 1;  m ← β₁·m + (1−β₁)·g 3;  v ← β₂·v + (1−β₂)·g² 4;  m̂, v̂ 2;
//   w ← w − η·m̂/(√v̂ + ε) 5 (root, + ε, division, · η, difference);  decay w·(1 − ηλ) 1
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[0]].shape.product(op.attributes<AdamwAttributes>().decay ? 16 : 15);
  add_traffic(cost, program, op);
  if (op.inputs.size() > adamw_input::master) {  // the narrow copy is written alone
    const Count copy = bytes(program[op.inputs[adamw_input::parameter]]);
    cost.read -= copy;
    cost.weights -= copy;
  }
  return cost;
}

}  // namespace

const OperationOf<> squared_norm_operation{{"squared_norm", norm_cost, nullptr}};
const OperationOf<AdamwAttributes> adamw_operation{{"adamw", cost, nullptr}};

TensorId squared_norm(Builder& builder, TensorId sum, TensorId gradient) {
  const TensorId y = builder.tensor(TensorKind::activation, "squared_norm", {}, DType::float32);
  builder.emit(squared_norm_operation, {sum, gradient}, {y});
  return y;
}

void adamw(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay) {
  const DType dtype = builder.program().workload.precision.optimizer;
  const TensorId first = builder.like(parameter, TensorKind::optimizer_state, Piece::first_moment, dtype);
  const TensorId second = builder.like(parameter, TensorKind::optimizer_state, Piece::second_moment, dtype);
  builder.emit(adamw_operation, {parameter, gradient, first, second, norm}, {parameter, first, second}, {decay});
}

}  // namespace reckon
