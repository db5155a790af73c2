#include "ops/short_convolution.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// A product of each token's window with the weights of its channel, also where the window begins before the text. The
// cache is read and written anew.
Cost cost(const Program& program, const Op& op) {
  const Shape& x = program[op.inputs[0]].shape;
  Formula bias = op.inputs[2] != no_tensor ? Formula(x.product()) : Formula();
  Cost cost = streaming_cost(program, op, std::move(bias), x.product(2).times(program[op.inputs[1]].shape[-1]));
  add_state(program, op, 3, cost);
  return cost;
}

// dx and dw are products as large; db sums rows.
Cost backward_cost(const Program& program, const Op& op) {
  const Shape& x = program[op.inputs[1]].shape;
  const std::int64_t products = op.outputs[1] != no_tensor ? 4 : 2;
  Formula bias = op.outputs[2] != no_tensor ? Formula(x.product()) : Formula();
  return streaming_cost(program, op, std::move(bias), x.product(products).times(program[op.inputs[2]].shape[-1]));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dx = g.make(x), d_weight = g.make_wanted(weight), d_bias = g.make_wanted(bias);
  g.builder().emit(short_convolution_backward_operation, {g.of(op.outputs[0]), x, weight}, {dx, d_weight, d_bias});
  g.add(x, dx);
  g.add(weight, d_weight);
  g.add(bias, d_bias);
}

}  // namespace

const OperationOf<> short_convolution_operation{{"short_convolution", cost, gradient}};
const OperationOf<> short_convolution_backward_operation{{"short_convolution_backward", backward_cost, nullptr}};

TensorId short_convolution(Builder& builder, TensorId x, TensorId weight, TensorId bias, TensorId cache, Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(in.rank() == 3 && w.rank() == 2 && w[0].size == in[2].size, "short_convolution",
        to_string(in) + " and " + to_string(w), "a row of weights for each channel");
  check_state(builder, cache, "short_convolution", in[0].size, (w[1].size - 1) * in[2].size);
  return builder.compute(label, in, short_convolution_operation, {x, weight, bias, cache});
}

}  // namespace reckon
