#include "ops/optimizers.h"

#include "ops/rules.h"
#include "ops/update.h"

#include <algorithm>
#include <utility>

namespace reckon {
namespace {

const Shape& parameter_shape(const Program& program, const Op& op) {
  return program[op.inputs[update_input::parameter]].shape;
}

// Per element:  g ← c·g 1;  g ← g + λ·w 2;  m ← μ·m + g 2;  w ← w − η·m 2
Cost sgd_cost(const Program& program, const Op& op) {
  const std::int64_t per_element = op.attributes<UpdateAttributes>().decay ? 7 : 5;
  return update_cost(program, op, parameter_shape(program, op).product(per_element));
}

namespace adafactor_input {
enum { row = 2, column = 3 };
}

// u = g/√v̂ is divided by its root mean square where that is above 1: it is written down, and read again.
// Per element:  g ← c·g 1;  g² + ε 2;  u² and its sum 2;  u over its root mean square 1;  · η 1;  w − 1;  decay 1;  and
//   of a vector  v ← β·v + (1−β)·(g² + ε) 3;  u = g/√v 2
//   of a matrix  sums over columns and rows 2;  u = g · 1/√(r/mean r) · 1/√c 2
// Per row:  the mean 1, r ← β·r + (1−β)·mean 3;  its part in the mean of r 1;  quotient 1;  root 1.  Per column: 1,
// 3, 1.
Cost adafactor_cost(const Program& program, const Op& op) {
  const Shape& shape = parameter_shape(program, op);
  const bool factored = program[op.inputs[adafactor_input::row]].label.piece == Piece::row_moment;
  const std::int64_t decay = op.attributes<UpdateAttributes>().decay ? 1 : 0;
  Formula operations = shape.product((factored ? 12 : 13) + decay);
  if (factored) {
    operations += program[op.inputs[adafactor_input::row]].shape.product(7);
    operations += program[op.inputs[adafactor_input::column]].shape.product(5);
  }
  Cost cost = update_cost(program, op, std::move(operations));
  // The gradient is read for the moments and for u, and u by the step.
  const bool master = op.outputs.back() == op.inputs.back();
  const TensorId update = op.outputs[op.outputs.size() - (master ? 2 : 1)];
  cost.read += bytes(program[op.inputs[update_input::gradient]]) + bytes(program[update]);
  cost.launches = 3;
  return cost;
}

// Per element:  g ← c·g 1;  m ← μ·m + (1−μ)·g 3;  Nesterov's X = μ·m + (1−μ)·g 3;  its norm 2, quotient 1;  decay 1
Cost muon_cost(const Program& program, const Op& op) {
  return update_cost(program, op, parameter_shape(program, op).product(11));
}

namespace newton_schulz_output {
enum { orthogonal, gram, polynomial };
}

// Of X, n × m with n ≤ m, each step makes
//   A = X·Xᵀ  2n²m;    B = b·A + c·A·A  2n³, and 3n² element-wise;    X ← a·X + B·X  2n²m, and 2nm element-wise.
Cost newton_schulz_cost(const Program& program, const Op& op) {
  using namespace newton_schulz_output;
  const Shape &x = program[op.inputs[0]].shape, &a = program[op.outputs[gram]].shape;
  const std::int64_t steps = op.attributes<NewtonSchulzAttributes>().steps;
  Cost cost;
  cost.matmul = a.product(4 * steps).times(x[-1]);
  cost.matmul += a.product(2 * steps).times(x[-2]);
  cost.elementwise = x.product(2 * steps);
  cost.elementwise += a.product(3 * steps);
  // Each of the three products reads its factors once and writes its result; what it is added to is one of them.
  const Count wide = bytes(program[op.inputs[0]]), square = bytes(program[op.outputs[gram]]);
  cost.read = (2 * wide + 2 * square) * steps;
  cost.written = (wide + 2 * square) * steps;
  cost.launches = 3 * steps;
  return cost;
}

// AdamW's own operations (15, with decay 16), and for each of the two moments: code · maximum 1; the new maximum of its
// block 1; the quotient by it 1. Looking up a code is not counted.
Cost adam8bit_cost(const Program& program, const Op& op) {
  const std::int64_t per_element = op.attributes<UpdateAttributes>().decay ? 22 : 21;
  return update_cost(program, op, parameter_shape(program, op).product(per_element));
}

}  // namespace

const OperationOf<UpdateAttributes> sgd_operation{{"sgd", sgd_cost, nullptr}};
const OperationOf<UpdateAttributes> adafactor_operation{{"adafactor", adafactor_cost, nullptr}};
const OperationOf<UpdateAttributes> adam8bit_operation{{"adam8bit", adam8bit_cost, nullptr}};
const OperationOf<> muon_operation{{"muon", muon_cost, nullptr}};
const OperationOf<NewtonSchulzAttributes> newton_schulz_operation{{"newton_schulz", newton_schulz_cost, nullptr}};
// · η with the matrix' own factor 1;  w − 1
const OperationOf<> muon_step_operation{{"muon_step", input_cost<0, 2>, nullptr}};

void sgd(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay) {
  const TensorId first =
      moment(builder, parameter, Piece::first_moment, builder.program().workload.precision.optimizer);
  TensorIds inputs{parameter, gradient, first, norm}, outputs{parameter, first};
  add_master(builder, inputs, outputs);
  builder.emit(sgd_operation, std::move(inputs), std::move(outputs), {decay});
}

void adafactor(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay) {
  const DType dtype = builder.program().workload.precision.optimizer;
  const Shape shape = builder.shape(parameter);
  const TensorId update = builder.tensor(TensorKind::activation, "update", shape, dtype);
  TensorIds inputs{parameter, gradient}, outputs{parameter};
  if (shape.rank() > 1) {
    Shape columns = shape.leading().leading();
    columns.push(shape[-1]);
    for (TensorId id : {moment(builder, parameter, Piece::row_moment, dtype, shape.leading()),
                        moment(builder, parameter, Piece::column_moment, dtype, columns)}) {
      inputs.push_back(id);
      outputs.push_back(id);
    }
  } else {
    inputs.push_back(moment(builder, parameter, Piece::second_moment, dtype));
    outputs.push_back(inputs.back());
  }
  inputs.push_back(norm);
  outputs.push_back(update);
  add_master(builder, inputs, outputs);
  builder.emit(adafactor_operation, std::move(inputs), std::move(outputs), {decay});
}

void adam8bit(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, bool decay) {
  const TensorId first = moment(builder, parameter, Piece::first_moment, DType::block8);
  const TensorId second = moment(builder, parameter, Piece::second_moment, DType::block8);
  TensorIds inputs{parameter, gradient, first, second, norm}, outputs{parameter, first, second};
  add_master(builder, inputs, outputs);
  builder.emit(adam8bit_operation, std::move(inputs), std::move(outputs), {decay});
}

void muon(Builder& builder, TensorId parameter, TensorId gradient, TensorId norm, std::int64_t steps) {
  const Shape shape = builder.shape(parameter);
  check(shape.rank() > 1, "muon", to_string(shape), "a matrix");
  const bool tall = shape[-2].size > shape[-1].size;
  const Dim n = shape[tall ? -1 : -2], m = shape[tall ? -2 : -1];
  const TensorId momentum =
      moment(builder, parameter, Piece::first_moment, builder.program().workload.precision.optimizer);
  // In bfloat16, as in Jordan's code. There are two X: a product cannot be written over its own factor.
  const auto temporary = [&](const char* label, Dim rows, Dim columns) {
    return builder.tensor(TensorKind::activation, label, shape.leading().leading().push(rows).push(columns),
                          DType::bfloat16);
  };
  const TensorId factor = temporary("factor", n, m), orthogonal = temporary("orthogonal", n, m);
  const TensorId gram = temporary("gram", n, n), polynomial = temporary("polynomial", n, n);
  TensorIds inputs{parameter, gradient, momentum, norm}, outputs{momentum, factor};
  add_master(builder, inputs, outputs);
  const bool has_master = outputs.size() > 2;
  const TensorId wide = has_master ? outputs.back() : parameter;
  if (!has_master) outputs.push_back(parameter);
  builder.emit(muon_operation, std::move(inputs), std::move(outputs));
  builder.emit(newton_schulz_operation, {factor}, {orthogonal, gram, polynomial}, {steps});
  builder.emit(muon_step_operation, {wide, orthogonal}, has_master ? TensorIds{parameter, wide} : TensorIds{parameter});
}

}  // namespace reckon
