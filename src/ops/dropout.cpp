#include "ops/dropout.h"

#include "ops/check.h"
#include "ops/gradient.h"

namespace reckon {
namespace {

// A comparison with a random number and a product; drawing the number is not counted.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product(2);
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId dx = g.make(op.inputs[0]);
  g.builder().emit(dropout_operation, {g.of(op.outputs[0])}, {dx}, op.attributes<DropoutAttributes>());
  g.add(op.inputs[0], dx);
}

}  // namespace

const OperationOf<DropoutAttributes> dropout_operation{{"dropout", cost, gradient}};

TensorId dropout(Builder& builder, TensorId x, double probability, std::int64_t stream, Label label) {
  check(probability > 0.0 && probability < 1.0, "dropout", std::to_string(probability), "a probability below 1");
  const TensorId y = builder.activation(label, builder.shape(x));
  builder.emit(dropout_operation, {x}, {y}, {probability, stream});
  return y;
}

}  // namespace reckon
