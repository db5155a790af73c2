#include "ops/add.h"

#include "ops/check.h"
#include "ops/gradient.h"
#include "ops/sum_rows.h"

namespace reckon {
namespace {

Cost cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = program[op.outputs[0]].shape.product();
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId dy = g.of(op.outputs[0]);
  const TensorId a = op.inputs[0], b = op.inputs[1];
  if (g.wanted(a)) g.add(a, dy);
  if (!g.wanted(b)) return;
  const bool repeated = g.builder().shape(b).rank() < g.builder().shape(a).rank();
  g.add(b, repeated ? sum_rows(g, dy, b) : dy);
}

}  // namespace

const OperationOf<> add_operation{{"add", cost, gradient}};

TensorId add(Builder& builder, TensorId a, TensorId b, Label label) {
  const Shape large = builder.shape(a), small = builder.shape(b);
  bool fits = small.rank() <= large.rank();
  for (int i = 1; fits && i <= small.rank(); ++i) fits = small[-i].size == large[-i].size;
  check(fits, "add", to_string(large) + " and " + to_string(small), "shapes that agree from the last dimension on");
  const TensorId y = builder.activation(label, large);
  builder.emit(add_operation, {a, b}, {y});
  return y;
}

}  // namespace reckon
