#include "ops/delta_rule.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// `first` is where query, key, value, step, decay and beta begin.
Term states(const Program& program, const Op& op, std::size_t first, std::int64_t operations) {
  return program[op.inputs[first + 2]].shape.product(operations).times(program[op.inputs[first]].shape[-1]);
}

// Sᵀ·k, k·δᵀ and Sᵀ·q are products, 2 each a state; α·S 1. α 2, δ 2; −e^a 2, once.
Cost cost(const Program& program, const Op& op) {
  Formula elementwise = states(program, op, 0, 1);
  elementwise += program[op.inputs[delta_input::step]].shape.product(2);
  elementwise += program[op.inputs[delta_input::value]].shape.product(2);
  elementwise += program[op.inputs[delta_input::decay]].shape.product(2);
  Cost cost = streaming_cost(program, op, std::move(elementwise), states(program, op, 0, 6));
  add_state(program, op, delta_input::state, cost);
  return cost;
}

// With G the gradient of the state after a token and G' before its key was moved:
//   products: Sᵀ·k and k·δᵀ again, G + q·dyᵀ, dq = S·dy, dδ = Gᵀ·k, dk = G·δ + S·dm, G' = G + k·dmᵀ: 16 a state
//   α·S 1, dα = Σ G'·S and its sum 2, α·G' 1; δ again 2, dv = β·dδ 1, dβ = Σ dδ·(v − m) 2, dm = −dv 1
//   α 2, dα·α 1, dΔ 1, dA and its sum 2; −e^a 2 and da 1, once
Cost backward_cost(const Program& program, const Op& op) {
  Formula elementwise = states(program, op, 1, 4);
  elementwise += program[op.inputs[1 + delta_input::step]].shape.product(6);
  elementwise += program[op.inputs[1 + delta_input::value]].shape.product(6);
  elementwise += program[op.inputs[1 + delta_input::decay]].shape.product(3);
  return streaming_cost(program, op, std::move(elementwise), states(program, op, 1, 16));
}

void gradient(Gradient& g, const Op& op) {
  TensorIds inputs{g.of(op.outputs[0])}, outputs;
  for (std::size_t i = delta_input::query; i <= delta_input::beta; ++i) {
    inputs.push_back(op.inputs[i]);
    outputs.push_back(i == delta_input::decay ? g.make_wanted(op.inputs[i]) : g.make(op.inputs[i]));
  }
  g.builder().emit(delta_rule_backward_operation, std::move(inputs), outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != no_tensor) g.add(op.inputs[i], outputs[i]);
  }
}

}  // namespace

const OperationOf<> delta_rule_operation{{"delta_rule", cost, gradient}};
const OperationOf<> delta_rule_backward_operation{{"delta_rule_backward", backward_cost, nullptr}};

TensorId delta_rule(Builder& builder, const DeltaInputs& in, Label label) {
  const Shape query = builder.shape(in.query), value = builder.shape(in.value), step = builder.shape(in.step);
  check(query.rank() == 4 && query.same_sizes(builder.shape(in.key)) && value.rank() == 4 &&
            value[2].size % query[2].size == 0,
        "delta_rule", to_string(query) + " and " + to_string(value),
        "keys and queries of heads that are shared evenly");
  check(step[2].size == value[2].size && (step.rank() == 3 || step[3].size == query[3].size), "delta_rule",
        "steps of " + to_string(step), "one for each head, or for each element of its keys");
  check_state(builder, in.state, "delta_rule", value[0].size, value[2].size * query[3].size * value[3].size);
  return builder.compute(label, value, delta_rule_operation,
                         {in.query, in.key, in.value, in.step, in.decay, in.beta, in.state});
}

}  // namespace reckon
