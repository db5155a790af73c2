#include "ops/view.h"

#include "ops/check.h"
#include "ops/gradient.h"

namespace reckon {
namespace {

Cost cost(const Program&, const Op&) {
  Cost cost;
  cost.launches = 0;
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const Tensor x = g.builder()[op.inputs[0]];
  const TensorId dy = g.of(op.outputs[0]);
  const TensorId dx = g.builder().alias(dy, x.label, x.shape);
  g.builder().emit(view_operation, {dy}, {dx});
  g.add(op.inputs[0], dx);
}

}  // namespace

const OperationOf<> view_operation{{"view", cost, gradient}};

TensorId view(Builder& builder, TensorId x, const Shape& shape) {
  check(builder.shape(x).product().value() == shape.product().value(), "view",
        to_string(builder.shape(x)) + " as " + to_string(shape), "as many elements");
  const TensorId y = builder.alias(x, builder[x].label, shape);
  builder.emit(view_operation, {x}, {y});
  return y;
}

}  // namespace reckon
