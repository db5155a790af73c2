#include "ops/xielu.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// Forward: a comparison and the longer of both formulas, 7. (p and n are made once.)
// Backward, dy times n·(e^x·[x < ε] − 1) + β: comparisons 2, the rest 5, · dy 1; where the slopes are trained, what
// they multiply, times dy, and its sum: 4 more.
Cost backward_cost(const Program& program, const Op& op) {
  const std::int64_t operations = op.outputs[1] != no_tensor ? 12 : 8;
  return streaming_cost(program, op, program[op.inputs[0]].shape.product(operations));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], slopes = op.inputs[1], shape = op.inputs[2];
  const TensorId dx = g.make(x), d_slopes = g.make_wanted(slopes);
  g.builder().emit(xielu_backward_operation, {g.of(op.outputs[0]), x, slopes, shape}, {dx, d_slopes});
  g.add(x, dx);
  g.add(slopes, d_slopes);
}

}  // namespace

const OperationOf<> xielu_operation{{"xielu", output_cost<8>, gradient}};
const OperationOf<> xielu_backward_operation{{"xielu_backward", backward_cost, nullptr}};

TensorId xielu(Builder& builder, TensorId x, TensorId slopes, TensorId shape, Label label) {
  for (TensorId two : {slopes, shape})
    check(builder.shape(two).elements() == 2, "xielu", "numbers of " + to_string(builder.shape(two)), "two");
  return builder.compute(label, builder.shape(x), xielu_operation, {x, slopes, shape});
}

}  // namespace reckon
