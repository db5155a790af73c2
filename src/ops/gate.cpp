#include "ops/gate.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// act(g) of each row, and a product an element.
Cost cost(const Program& program, const Op& op) {
  const std::int64_t act = activation_cost(op.attributes<GateAttributes>().activation).forward;
  return streaming_cost(program, op, elements_and_rows(program[op.inputs[0]].shape, 1, act));
}

// dx = act(g)·dy; dg = act'(g)·Σ dy·x: a product an element for dx, a product and a sum for dg.
Cost backward_cost(const Program& program, const Op& op) {
  const ActivationCost act = activation_cost(op.attributes<GateAttributes>().activation);
  return streaming_cost(program, op, elements_and_rows(program[op.inputs[1]].shape, 3, act.forward + act.backward - 1));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], gate = op.inputs[1];
  const TensorId dx = g.make(x), d_gate = g.make(gate);
  g.builder().emit(gate_backward_operation, {g.of(op.outputs[0]), x, gate}, {dx, d_gate},
                   op.attributes<GateAttributes>());
  g.add(x, dx);
  g.add(gate, d_gate);
}

}  // namespace

const OperationOf<GateAttributes> gate_operation{{"gate", cost, gradient}};
const OperationOf<GateAttributes> gate_backward_operation{{"gate_backward", backward_cost, nullptr}};

TensorId gate_rows(Builder& builder, TensorId x, TensorId gate, Activation activation, Label label) {
  const Shape shape = builder.shape(x);
  check(builder.shape(gate).elements() == shape.leading().elements(), "gate",
        to_string(shape) + " and " + to_string(builder.shape(gate)), "a number for each row");
  return builder.compute(label, shape, gate_operation, {x, gate}, {activation});
}

}  // namespace reckon
