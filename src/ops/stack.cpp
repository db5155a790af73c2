#include "ops/stack.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// A part that nothing depends on has no gradient; its place is filled with zeros.
void unstack_gradient(Gradient& g, const Op& op) {
  TensorIds parts;
  for (TensorId y : op.outputs) parts.push_back(g.of(y));
  g.contribute(op.inputs[0], stack_operation, std::move(parts));
}

}  // namespace

const OperationOf<> unstack_operation{{"unstack", copy_cost, unstack_gradient}};
const OperationOf<> stack_operation{{"stack", copy_cost, nullptr}};

TensorIds unstack(Builder& builder, TensorId x, Label label) {
  const Shape shape = builder.shape(x);
  check(shape.rank() > 1, "unstack", to_string(shape), "an extent to take apart before the last");
  Shape each = shape.leading().leading();
  each.push(shape[-1]);
  TensorIds parts;
  for (std::int64_t i = 0; i < shape[-2].size; ++i) parts.push_back(builder.activation(label, each));
  builder.emit(unstack_operation, {x}, parts);
  return parts;
}

}  // namespace reckon
