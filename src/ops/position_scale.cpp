#include "ops/position_scale.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// A product an element. The table is made once, not per pass; of it, the rows of the new tokens are read.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Tensor& x = program[op.inputs[0]];
  cost.elementwise = x.shape.product();
  cost.read = bytes(x) + whole_blocks(program[op.inputs[1]].dtype, Term(1).times(x.shape[1]).value());
  cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], position_scale_operation, {g.of(op.outputs[0]), op.inputs[1]});
}

}  // namespace

const OperationOf<> position_scale_operation{{"position_scale", cost, gradient}};

TensorId scale_by_position(Builder& builder, TensorId x, TensorId table, Label label) {
  const Shape shape = builder.shape(x);
  check(shape.rank() == 4 && builder.shape(table)[-1].size == 1, "position_scale",
        to_string(shape) + " by " + to_string(builder.shape(table)), "heads of tokens, and one number a position");
  return builder.compute(label, shape, position_scale_operation, {x, table});
}

}  // namespace reckon
