#include "ops/embed.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// Only the rows asked for are read.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.written = bytes(program[op.outputs[0]]);
  cost.read = cost.written + bytes(program[op.inputs[1]]);
  cost.weights = cost.written;
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], embed_backward_operation, {g.of(op.outputs[0]), op.inputs[1]});
}

}  // namespace

const OperationOf<> embed_operation{{"embed", cost, gradient}};
// One addition per element of dy, into rows of the table's gradient, which is counted whole: it is written with zeros
// where no token was. Where there is another gradient to add to (a tied head's), that is counted as read whole too, as
// PyTorch adds two whole gradients; the cpu's kernel then touches the tokens' rows alone.
const OperationOf<> embed_backward_operation{{"embed_backward", input_cost<0, 1>, nullptr}};

TensorId embed(Builder& builder, TensorId table, TensorId ids, Label label) {
  check(builder.shape(table).rank() == 2, "embed", to_string(builder.shape(table)), "a table of rows");
  return builder.compute(label, builder.shape(ids).push(builder.shape(table)[-1]), embed_operation, {table, ids});
}

}  // namespace reckon
