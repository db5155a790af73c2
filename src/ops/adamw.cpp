#include "ops/adamw.h"

#include "ops/rules.h"
#include "ops/update.h"

namespace reckon {
namespace {

// Per element:  g ← c·g 1;  m ← β₁·m + (1−β₁)·g 3;  v ← β₂·v + (1−β₂)·g² 4;  m̂, v̂ 2;
//   w ← w − η·m̂/(√v̂ + ε) 5 (root, + ε, division, · η, difference);  decay w·(1 − ηλ) 1
Cost cost(const Program& program, const Op& op) {
  const std::int64_t per_element = op.attributes<AdamwAttributes>().decay ? 16 : 15;
  return update_cost(program, op, program[op.inputs[adamw_input::parameter]].shape.product(per_element));
}

}  // namespace

// A product and an addition for each element of the gradient.
const OperationOf<> squared_norm_operation{{"squared_norm", input_cost<1, 2>, nullptr}};
const OperationOf<AdamwAttributes> adamw_operation{{"adamw", cost, nullptr}};

TensorId squared_norm(Builder& builder, TensorId sum, TensorId gradient) {
  const TensorId y = builder.tensor(TensorKind::activation, "squared_norm", {}, DType::float32);
  builder.emit(squared_norm_operation, {sum, gradient}, {y});
  return y;
}

void adamw(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay) {
  const DType dtype = builder.program().workload.precision.optimizer;
  const TensorId first = moment(builder, parameter, Piece::first_moment, dtype);
  const TensorId second = moment(builder, parameter, Piece::second_moment, dtype);
  TensorIds inputs{parameter, gradient, first, second, norm}, outputs{parameter, first, second};
  add_master(builder, inputs, outputs);
  builder.emit(adamw_operation, std::move(inputs), std::move(outputs), {decay});
}

}  // namespace reckon
