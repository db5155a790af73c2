#include "ops/embed.h"

#include "ops/check.h"
#include "ops/gradient.h"

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

// One addition per element of dy, into rows of the table's gradient.
Cost backward_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.inputs[0]].shape.product();  // the same where it is added to another gradient
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  if (!g.wanted(op.inputs[0])) return;
  const TensorId d_table = g.make(op.inputs[0]);
  g.builder().emit(embed_backward_operation, {g.of(op.outputs[0]), op.inputs[1]}, {d_table});
  g.add(op.inputs[0], d_table);
}

}  // namespace

const OperationOf<> embed_operation{{"embed", cost, gradient}};
const OperationOf<> embed_backward_operation{{"embed_backward", backward_cost, nullptr}};

TensorId embed(Builder& builder, TensorId table, TensorId ids, Label label) {
  check(builder.shape(table).rank() == 2, "embed", to_string(builder.shape(table)), "a table of rows");
  Shape shape = builder.shape(ids);
  shape.push(builder.shape(table)[-1]);
  const TensorId y = builder.activation(label, shape);
  builder.emit(embed_operation, {table, ids}, {y});
  return y;
}

}  // namespace reckon
