#include "ops/exponential.h"

#include "ops/rules.h"

namespace reckon {
namespace {

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], w = op.inputs[1], y = op.outputs[0];
  const TensorId dx = g.make(x), dw = g.make_wanted(w);
  g.builder().emit(exponential_backward_operation, {g.of(y), x, w, y}, {dx, dw});
  g.add(x, dx);
  g.add(w, dw);
}

// dx = dy·y·w: 2; dw = Σ dy·y·x: 2 more.
Cost backward_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, program[op.outputs[0]].shape.product(op.outputs[1] != no_tensor ? 4 : 2));
}

}  // namespace

// A product and an exponential.
const OperationOf<> exponential_operation{{"exponential", output_cost<2>, gradient}};
const OperationOf<> exponential_backward_operation{{"exponential_backward", backward_cost, nullptr}};

TensorId exponential(Builder& builder, TensorId x, TensorId w, Label label) {
  const Shape shape = builder.shape(x);
  check(builder.shape(w).elements() == shape[-1].size, "exponential",
        to_string(shape) + " and " + to_string(builder.shape(w)), "a factor for each element of a row");
  return builder.compute(label, shape, exponential_operation, {x, w});
}

}  // namespace reckon
