// Taking rows to their experts, and back with their weights.
#include "ops/check.h"
#include "ops/gradient.h"
#include "ops/mixture.h"

namespace reckon {
namespace {

Cost copy_cost(const Program& program, const Op& op) {
  Cost cost;
  add_traffic(cost, program, op);
  return cost;
}

// k rows meet again in one: k − 1 additions an element.
Cost gather_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[0]].shape.product();
  cost.elementwise += program[op.outputs[0]].shape.product(-1);
  add_traffic(cost, program, op);
  return cost;
}

// k products and k − 1 additions an element
Cost combine_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[0]].shape.product(2);
  cost.elementwise += program[op.outputs[0]].shape.product(-1);
  add_traffic(cost, program, op);
  return cost;
}

// d_row = weight · dy (one product), d_weight = Σ row · dy (a product and an addition, less one a row)
Cost combine_backward_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product(3);
  cost.elementwise += program[op.outputs[1]].shape.product(-1);
  add_traffic(cost, program, op);
  return cost;
}

void dispatch_gradient(Gradient& g, const Op& op) {
  const TensorId dx = g.make(op.inputs[0]);
  g.builder().emit(dispatch_backward_operation, {g.of(op.outputs[0]), op.outputs[1]}, {dx});
  g.add(op.inputs[0], dx);
}

void combine_gradient(Gradient& g, const Op& op) {
  const TensorId rows = op.inputs[0], weights = op.inputs[1], order = op.inputs[2];
  const TensorId d_rows = g.make(rows), d_weights = g.make(weights);
  g.builder().emit(combine_backward_operation, {g.of(op.outputs[0]), rows, weights, order}, {d_rows, d_weights});
  g.add(rows, d_rows);
  g.add(weights, d_weights);
}

}  // namespace

const OperationOf<> dispatch_operation{{"dispatch", copy_cost, dispatch_gradient}};
const OperationOf<> dispatch_backward_operation{{"dispatch_backward", gather_cost, nullptr}};
const OperationOf<> combine_operation{{"combine", combine_cost, combine_gradient}};
const OperationOf<> combine_backward_operation{{"combine_backward", combine_backward_cost, nullptr}};

Dispatched dispatch(Builder& builder, TensorId x, TensorId choice, Dim experts) {
  const Shape chosen = builder.shape(choice);
  Shape shape = chosen;
  shape.push(builder.shape(x)[-1]);
  const TensorId rows = builder.activation("rows", shape);
  const TensorId order = builder.tensor(TensorKind::activation, "order", chosen, DType::int32);
  const TensorId offsets = builder.tensor(TensorKind::activation, "offsets", {experts.size + 1}, DType::int32);
  builder.emit(dispatch_operation, {x, choice}, {rows, order, offsets});
  return {rows, order, offsets};
}

TensorId combine(Builder& builder, TensorId rows, TensorId weights, TensorId order, Label label) {
  const Shape in = builder.shape(rows);
  check(builder.shape(weights).same_sizes(in.leading()), "combine",
        to_string(in) + " and " + to_string(builder.shape(weights)), "a weight for each row");
  Shape shape = in.leading().leading();
  shape.push(in[-1]);
  const TensorId y = builder.activation(label, shape);
  builder.emit(combine_operation, {rows, weights, order}, {y});
  return y;
}

}  // namespace reckon
