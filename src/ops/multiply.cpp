#include "ops/multiply.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// dx = w·dy, a product an element; dw = Σ dy·x, a product and an addition.
void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], w = op.inputs[1], dy = g.of(op.outputs[0]);
  if (!g.wanted(w)) return g.contribute(x, multiply_operation, {dy, w});
  const TensorId dx = g.make(x), dw = g.make(w);
  g.builder().emit(multiply_backward_operation, {dy, x, w}, {dx, dw});
  g.add(x, dx);
  g.add(w, dw);
}

}  // namespace

const OperationOf<> multiply_operation{{"multiply", output_cost<1>, gradient}};
const OperationOf<> multiply_backward_operation{{"multiply_backward", output_cost<3>, nullptr}};

TensorId multiply(Builder& builder, TensorId x, TensorId w, Label label) {
  const Shape shape = builder.shape(x);
  const std::int64_t factors = builder.shape(w).elements();
  check(factors == 1 || factors == shape[-1].size, "multiply", to_string(shape) + " and " + to_string(builder.shape(w)),
        "a factor for each element of a row, or one");
  return builder.compute(label, shape, multiply_operation, {x, w});
}

}  // namespace reckon
