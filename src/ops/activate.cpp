#include "ops/activate.h"

#include "ops/rules.h"

namespace reckon {

// The derivatives, with their operations:
//   gelu       Φ(x) + x·φ(x),  Φ = ½(1 + erf(x/√2)) 4,  φ = e^(−½x²)/√2π 4,  product and sum 2,  · dy 1
//   gelu_tanh  ½(1 + t) + ½x(1 − t²)·√(2/π)(1 + 3·0.044715x²):  t 6,  first 2,  second 9 (x² is shared),  · dy 1
//   silu       σ(1 + x(1 − σ)):  σ 4,  rest 4,  · dy 1
//   sigmoid    σ(1 − σ):  σ 4,  rest 2,  · dy 1
//   softplus   σ:  4,  · dy 1
// (xIELU, which has parameters, is an operation of its own: ops/xielu.h.)
ActivationCost activation_cost(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return {5, 11};  // ½·x · (1 + erf(x / √2))
    case Activation::gelu_tanh:
      return {9, 18};  // ½·x · (1 + tanh(√(2/π)·(x + 0.044715·x·x·x)))
    case Activation::relu:
      return {1, 1};  // a comparison
    case Activation::relu_squared:
      return {2, 3};
    case Activation::silu:
      return {4, 9};  // x / (1 + e^−x)
    case Activation::sigmoid:
      return {4, 7};  // 1 / (1 + e^−x)
    case Activation::identity:
      return {0, 0};
    case Activation::softplus:
      return {3, 5};  // ln(1 + e^x)
    case Activation::xielu:
      break;
  }
  return {0, 0};
}

// A gate costs one product more, and backward: d_up = dy·act(gate), d_gate = (dy·up)·act'(gate).
// gpt-oss: g = min(g, c), u = clamp(u, ±c), g·σ(1.702·g)·(u + 1): 1 + 2 + 6 + 2; backward: clamps 3, σ 5, act 1,
// u + 1 and products 3, derivative σ + 1.702·g·σ·(1 − σ) 5, two masks of the clamps 2.
ActivationCost activation_operations(const ActivateAttributes& attributes, bool gated) {
  if (attributes.clamp != 0.0) return {11, 19};
  const ActivationCost act = activation_cost(attributes.activation);
  return gated ? ActivationCost{act.forward + 1, act.forward + 1 + act.backward + 1} : act;
}

namespace {

Cost cost(const Program& program, const Op& op) {
  const bool gated = op.inputs[1] != no_tensor;
  const ActivationCost per_element = activation_operations(op.attributes<ActivateAttributes>(), gated);
  return streaming_cost(program, op, program[op.outputs[0]].shape.product(per_element.forward));
}

Cost backward_cost(const Program& program, const Op& op) {
  const bool gated = op.inputs[2] != no_tensor;
  const ActivationCost per_element = activation_operations(op.attributes<ActivateAttributes>(), gated);
  return streaming_cost(program, op, program[op.inputs[1]].shape.product(per_element.backward));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId gate = op.inputs[0], up = op.inputs[1];
  const TensorId d_gate = g.make(gate), d_up = g.make_wanted(up);
  g.builder().emit(activate_backward_operation, {g.of(op.outputs[0]), gate, up}, {d_gate, d_up},
                   op.attributes<ActivateAttributes>());
  g.add(gate, d_gate);
  g.add(up, d_up);
}

}  // namespace

const OperationOf<ActivateAttributes> activate_operation{{"activate", cost, gradient}};
const OperationOf<ActivateAttributes> activate_backward_operation{{"activate_backward", backward_cost, nullptr}};

TensorId activate(Builder& builder, const FeedForward& rule, TensorId gate, TensorId up, Label label) {
  const Shape shape = builder.shape(gate);
  check(up == no_tensor || builder.shape(up).same_sizes(shape), "activate",
        to_string(shape) + (up == no_tensor ? "" : " and " + to_string(builder.shape(up))), "equal shapes");
  return builder.compute(label, shape, activate_operation, {gate, up}, {rule.activation, rule.clamp});
}

}  // namespace reckon
