#include "ops/view.h"

#include "ops/rules.h"

namespace reckon {
namespace {

void view_gradient(Gradient& g, const Op& op) {
  const Tensor x = g.builder()[op.inputs[0]];
  const TensorId dy = g.of(op.outputs[0]);
  const TensorId dx = g.builder().alias(dy, x.label, x.shape);
  g.builder().emit(view_operation, {dy}, {dx});
  g.add(op.inputs[0], dx);
}

// A part that nothing depends on has no gradient; its place is filled with zeros by the join.
void split_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], join_operation, {g.of(op.outputs[0]), g.of(op.outputs[1])});
}

void join_gradient(Gradient& g, const Op& op) {
  const TensorId da = g.make(op.inputs[0]), db = g.make(op.inputs[1]);
  g.builder().emit(join_backward_operation, {g.of(op.outputs[0])}, {da, db});
  g.add(op.inputs[0], da);
  g.add(op.inputs[1], db);
}

// Where one head of b served all, its gradient is the sum over them: heads − 1 additions an element.
Cost join_backward_cost(const Program& program, const Op& op) {
  const Shape& a = program[op.outputs[0]].shape;
  const Shape& b = program[op.outputs[1]].shape;
  if (a.rank() != 4 || b[2].size == a[2].size) return copy_cost(program, op);
  Formula additions(1, {b[0], b[1], a[2], b[3]});
  additions += Formula(-1, {b[0], b[1], b[3]});
  return streaming_cost(program, op, std::move(additions));
}

}  // namespace

const OperationOf<> view_operation{{"view", view_cost, view_gradient}};
const OperationOf<> split_operation{{"split", view_cost, split_gradient}};
const OperationOf<> join_operation{{"join", copy_cost, join_gradient}};
const OperationOf<> join_backward_operation{{"join_backward", join_backward_cost, nullptr}};

TensorId view(Builder& builder, TensorId x, const Shape& shape) {
  check(builder.shape(x).product().value() == shape.product().value(), "view",
        to_string(builder.shape(x)) + " as " + to_string(shape), "as many elements");
  const TensorId y = builder.alias(x, builder[x].label, shape);
  builder.emit(view_operation, {x}, {y});
  return y;
}

std::pair<TensorId, TensorId> split(Builder& builder, TensorId x, Dim a, Dim b, Label first, Label second) {
  const Shape shape = builder.shape(x);
  check(shape[-1].size == a.size + b.size, "split",
        to_string(shape) + " into " + std::to_string(a.size) + " and " + std::to_string(b.size), "parts that add up");
  const Strides strides = strides_of(builder[x]);
  const TensorId ya = builder.alias(x, first, shape.leading().push(a), 0, strides);
  const TensorId yb = builder.alias(x, second, shape.leading().push(b), a.size, strides);
  builder.emit(split_operation, {x}, {ya, yb});
  return {ya, yb};
}

TensorId join(Builder& builder, TensorId a, TensorId b, Dim joined, Label label) {
  const Shape left = builder.shape(a), right = builder.shape(b);
  check(left.rank() == right.rank() && left[-1].size + right[-1].size == joined.size, "join",
        to_string(left) + " and " + to_string(right), "parts that add up to " + std::to_string(joined.size));
  return builder.compute(label, left.leading().push(joined), join_operation, {a, b});
}

}  // namespace reckon
