#include "ops/softplus.h"

#include "ops/rules.h"

namespace reckon {
namespace {

std::int64_t limits_of(const Op& op) {
  const auto& a = op.attributes<SoftplusAttributes>();
  return (a.low > 0.0 ? 1 : 0) + (a.high > 0.0 ? 1 : 0);
}

// e^x, 1 +, log: 3; the bias 1, each limit a comparison.
Cost cost(const Program& program, const Op& op) {
  const std::int64_t operations = 3 + (op.inputs[1] != no_tensor ? 1 : 0) + limits_of(op);
  return streaming_cost(program, op, program[op.inputs[0]].shape.product(operations));
}

// dy·σ(x + b): σ 4, · dy 1, the bias 1 and 1 to sum its gradient; 0 beyond a limit, a comparison each.
Cost backward_cost(const Program& program, const Op& op) {
  const std::int64_t bias = op.inputs[2] == no_tensor ? 0 : op.outputs[1] == no_tensor ? 1 : 2;
  return streaming_cost(program, op, program[op.inputs[1]].shape.product(5 + bias + limits_of(op)));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], bias = op.inputs[1];
  const TensorId dx = g.make(x), d_bias = g.make_wanted(bias);
  g.builder().emit(softplus_backward_operation, {g.of(op.outputs[0]), x, bias}, {dx, d_bias},
                   op.attributes<SoftplusAttributes>());
  g.add(x, dx);
  g.add(bias, d_bias);
}

}  // namespace

const OperationOf<SoftplusAttributes> softplus_operation{{"softplus", cost, gradient}};
const OperationOf<SoftplusAttributes> softplus_backward_operation{{"softplus_backward", backward_cost, nullptr}};

TensorId softplus(Builder& builder, TensorId x, TensorId bias, const SoftplusAttributes& limits, Label label) {
  const Shape shape = builder.shape(x);
  check(bias == no_tensor || builder.shape(bias).elements() == shape[-1].size, "softplus",
        to_string(shape) + (bias == no_tensor ? "" : " and " + to_string(builder.shape(bias))),
        "a bias for each element of a row");
  return builder.compute(label, shape, softplus_operation, {x, bias}, limits);
}

}  // namespace reckon
