#include "ops/split.h"

#include "ops/check.h"
#include "ops/gradient.h"

namespace reckon {
namespace {

Cost split_cost(const Program&, const Op&) {
  Cost cost;
  cost.launches = 0;
  return cost;
}

Cost join_cost(const Program& program, const Op& op) {
  Cost cost;
  add_traffic(cost, program, op);
  return cost;
}

// Where one head of b served all, its gradient is the sum over them: heads − 1 additions an element.
Cost join_backward_cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& b = program[op.outputs[1]].shape;
  const Shape& a = program[op.outputs[0]].shape;
  if (a.rank() == 4 && b[2].size != a[2].size) {
    cost.elementwise = Formula(1, {b[0], b[1], a[2], b[3]});
    cost.elementwise += Formula(-1, {b[0], b[1], b[3]});
  }
  add_traffic(cost, program, op);
  return cost;
}

// A part that nothing depends on has no gradient; its place is filled with zeros by the join.
void split_gradient(Gradient& g, const Op& op) {
  const TensorId dx = g.make(op.inputs[0]);
  g.builder().emit(join_operation, {g.of(op.outputs[0]), g.of(op.outputs[1])}, {dx});
  g.add(op.inputs[0], dx);
}

void join_gradient(Gradient& g, const Op& op) {
  const TensorId da = g.make(op.inputs[0]), db = g.make(op.inputs[1]);
  g.builder().emit(join_backward_operation, {g.of(op.outputs[0])}, {da, db});
  g.add(op.inputs[0], da);
  g.add(op.inputs[1], db);
}

}  // namespace

const OperationOf<> split_operation{{"split", split_cost, split_gradient}};
const OperationOf<> join_operation{{"join", join_cost, join_gradient}};
const OperationOf<> join_backward_operation{{"join_backward", join_backward_cost, nullptr}};

std::pair<TensorId, TensorId> split(Builder& builder, TensorId x, Dim a, Dim b, Label first, Label second) {
  const Shape shape = builder.shape(x);
  check(shape[-1].size == a.size + b.size, "split",
        to_string(shape) + " into " + std::to_string(a.size) + " and " + std::to_string(b.size), "parts that add up");
  Shape left = shape.leading(), right = shape.leading();
  left.push(a);
  right.push(b);
  const Strides strides = strides_of(builder[x]);
  const TensorId ya = builder.alias(x, first, left, 0, strides), yb = builder.alias(x, second, right, a.size, strides);
  builder.emit(split_operation, {x}, {ya, yb});
  return {ya, yb};
}

TensorId join(Builder& builder, TensorId a, TensorId b, Dim joined, Label label) {
  const Shape left = builder.shape(a), right = builder.shape(b);
  check(left.rank() == right.rank() && left[-1].size + right[-1].size == joined.size, "join",
        to_string(left) + " and " + to_string(right), "parts that add up to " + std::to_string(joined.size));
  Shape shape = left.leading();
  shape.push(joined);
  const TensorId y = builder.activation(label, shape);
  builder.emit(join_operation, {a, b}, {y});
  return y;
}

}  // namespace reckon
