#include "ops/scale.h"

#include "ops/gradient.h"

namespace reckon {
namespace {

Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product();
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId dx = g.make(op.inputs[0]);
  g.builder().emit(scale_operation, {g.of(op.outputs[0])}, {dx}, op.attributes<ScaleAttributes>());
  g.add(op.inputs[0], dx);
}

}  // namespace

const OperationOf<ScaleAttributes> scale_operation{{"scale", cost, gradient}};

TensorId scale(Builder& builder, TensorId x, double factor, Label label) {
  const TensorId y = builder.activation(label, builder.shape(x));
  builder.emit(scale_operation, {x}, {y}, {factor});
  return y;
}

}  // namespace reckon
