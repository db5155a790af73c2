#include "ops/softcap.h"

#include "ops/gradient.h"

namespace reckon {
namespace {

// divide, tanh, multiply
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product(3);
  add_traffic(cost, program, op);
  return cost;
}

// dx = dy·(1 − (y/c)²): divide, multiply, subtract, multiply
Cost backward_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product(4);
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId dx = g.make(op.inputs[0]);
  g.builder().emit(softcap_backward_operation, {g.of(op.outputs[0]), op.outputs[0]}, {dx},
                   op.attributes<SoftcapAttributes>());
  g.add(op.inputs[0], dx);
}

}  // namespace

const OperationOf<SoftcapAttributes> softcap_operation{{"softcap", cost, gradient}};
const OperationOf<SoftcapAttributes> softcap_backward_operation{{"softcap_backward", backward_cost, nullptr}};

TensorId softcap(Builder& builder, TensorId x, double cap, Label label) {
  const TensorId y = builder.activation(label, builder.shape(x));
  builder.emit(softcap_operation, {x}, {y}, {cap});
  return y;
}

}  // namespace reckon
