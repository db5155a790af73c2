#include "ops/scan.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// The extents of the tensors that an op begins with: x, step, decay and key from `first` on.
struct Extents {
  Extents(const Program& program, const Op& op, std::size_t first)
      : x(program[op.inputs[first]].shape), decay(program[op.inputs[first + 2]].shape) {
    const TensorId key = op.inputs[first + 3];
    width = key == no_tensor ? Dim() : program[key].shape[-1];
  }
  Term states(std::int64_t operations) const { return x.product(operations).times(width); }  // B·T·H·P·N
  Term values(std::int64_t operations) const { return x.product(operations); }               // B·T·H·P
  Term decays(std::int64_t operations) const {                                               // B·T for each of a
    return decay.product(operations).times(x[0]).times(x[1]);
  }
  Shape x, decay;
  Dim width;
};

// state_space: k·(Δ·x)ᵀ and Sᵀ·q are products, 2 each a state; α·S 1. α 2, Δ·x 1, D·x and its sum 2; A 2, once.
// lightning: the same without Δ; α 2, once.
// rg_lru: α 2, √(1 − α²) 3, · x 1, α·h and the sum 2; A 4, once.
Cost cost(const Program& program, const Op& op) {
  const Extents e(program, op, 0);
  Formula products, elementwise;
  switch (op.attributes<ScanAttributes>().rule) {
    case ScanRule::state_space:
      products = e.states(4);
      elementwise = e.states(1);
      elementwise += e.decays(2);
      elementwise += e.values(3);
      elementwise += e.decay.product(2);
      break;
    case ScanRule::lightning:
      products = e.states(4);
      elementwise = e.states(1);
      elementwise += e.decay.product(2);
      break;
    case ScanRule::rg_lru:
      elementwise = e.values(8);
      elementwise += e.decay.product(4);
      break;
  }
  Cost cost = streaming_cost(program, op, std::move(elementwise), std::move(products));
  add_state(program, op, scan_input::state, cost);
  return cost;
}

// With G the gradient of a state, which what follows has left α·G of:
// state_space: products of the states again, G + q·dyᵀ, dq = S·dy, d(Δ·x) = Gᵀ·k, dk = G·(Δ·x): 10 a state; α·S, dα = Σ
//   G·S and its sum, α·G: 4. α 2, dα·α 1, what it adds to dΔ and to dA 4. Δ·x, Δ·d(Δ·x), and its sum with x 4; D·dy,
//   its sum, dD 4. A 2 and da 1, once.
// lightning: products 10; α·S and α·G 2; α 2, once.
// rg_lru: states again 8; G + dy 1, dx 1, d√ 1, dα 1 + 3, · α 1, dΔ 1, dA 2, α·G 1: 20; A 4 and da 5, once.
Cost backward_cost(const Program& program, const Op& op) {
  const Extents e(program, op, 1);
  Formula products, elementwise;
  switch (op.attributes<ScanAttributes>().rule) {
    case ScanRule::state_space:
      products = e.states(10);
      elementwise = e.states(4);
      elementwise += e.decays(7);
      elementwise += e.values(8);
      elementwise += e.decay.product(3);
      break;
    case ScanRule::lightning:
      products = e.states(10);
      elementwise = e.states(2);
      elementwise += e.decay.product(2);
      break;
    case ScanRule::rg_lru:
      elementwise = e.values(20);
      elementwise += e.decay.product(9);
      break;
  }
  return streaming_cost(program, op, std::move(elementwise), std::move(products));
}

void gradient(Gradient& g, const Op& op) {
  TensorIds inputs{g.of(op.outputs[0])}, outputs;
  for (std::size_t i = scan_input::x; i <= scan_input::skip; ++i) {
    const TensorId id = op.inputs[i];
    inputs.push_back(id);
    const bool parameter = i == scan_input::decay || i == scan_input::skip;
    outputs.push_back(id == no_tensor ? no_tensor : parameter ? g.make_wanted(id) : g.make(id));
  }
  g.builder().emit(scan_backward_operation, std::move(inputs), outputs, op.attributes<ScanAttributes>());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != no_tensor) g.add(op.inputs[i], outputs[i]);
  }
}

}  // namespace

const OperationOf<ScanAttributes> scan_operation{{"scan", cost, gradient}};
const OperationOf<ScanAttributes> scan_backward_operation{{"scan_backward", backward_cost, nullptr}};

TensorId scan(Builder& builder, ScanRule rule, const ScanInputs& in, Label label) {
  const Shape x = builder.shape(in.x), decay = builder.shape(in.decay);
  const std::int64_t width = in.key == no_tensor ? 1 : builder.shape(in.key)[-1].size;
  check(x.rank() == 4 && decay[0].size == x[2].size && (decay.rank() == 1 || decay[1].size == width), "scan",
        to_string(x) + " and decays of " + to_string(decay), "decays for each head");
  check((in.step == no_tensor) == (rule == ScanRule::lightning) && (in.key == no_tensor) == (in.query == no_tensor) &&
            (in.key == no_tensor) == (rule == ScanRule::rg_lru) &&
            (in.skip == no_tensor) == (rule != ScanRule::state_space),
        "scan", "other inputs", "those of its rule");
  check(in.key == no_tensor || (builder.shape(in.key).same_sizes(builder.shape(in.query)) &&
                                x[2].size % builder.shape(in.key)[2].size == 0),
        "scan", to_string(x) + " with other keys than queries", "keys and queries of heads that are shared evenly");
  check_state(builder, in.state, "scan", x[0].size, x[2].size * x[3].size * width);
  return builder.compute(label, x, scan_operation, {in.x, in.step, in.decay, in.key, in.query, in.skip, in.state},
                         {rule});
}

}  // namespace reckon
