#include "ops/rope.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// (a, b) → (a·cos − b·sin, a·sin + b·cos): six operations per pair, three per rotated element.
// The table is made once, not per pass: it is no part of this cost. Of it, the rows of the new tokens are read.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Tensor& x = program[op.inputs[0]];
  const Tensor& table = program[op.inputs[1]];
  cost.elementwise = x.shape.leading().product(3).times(table.shape[-1]);
  cost.read = bytes(x) + whole_blocks(table.dtype, Term(1).times(x.shape[1]).times(table.shape[-1]).value());
  cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

// A rotation's gradient is the rotation back.
void gradient(Gradient& g, const Op& op) {
  const auto& a = op.attributes<RopeAttributes>();
  g.contribute(op.inputs[0], rope_operation, {g.of(op.outputs[0]), op.inputs[1]},
               {a.interleaved, !a.inverse, a.trailing});
}

}  // namespace

const OperationOf<RopeAttributes> rope_operation{{"rope", cost, gradient}};

TensorId rope(Builder& builder, TensorId x, TensorId table, bool interleaved, Label label, bool trailing,
              bool inverse) {
  const Shape shape = builder.shape(x);
  check(builder.shape(table)[-1].size <= shape[-1].size, "rope",
        "a table of " + to_string(builder.shape(table)) + " for " + to_string(shape), "no more angles than elements");
  return builder.compute(label, shape, rope_operation, {x, table}, {interleaved, inverse, trailing});
}

}  // namespace reckon
