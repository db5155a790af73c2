#include "ops/norm.h"

#include "ops/check.h"
#include "ops/gradient.h"

namespace reckon {
namespace {

bool has(const Op& op, std::size_t input) { return op.inputs[input] != no_tensor; }

// `per_element`·x + `per_row` for each row
Formula rows_and_elements(const Shape& x, std::int64_t per_element, std::int64_t per_row) {
  Formula formula(x.product(per_element));
  formula += Formula(x.leading().product(per_row));
  return formula;
}

// What the learned parts add: w and b are one operation each; 1 + w is computed once per element of w.
void add_affine(Cost& cost, const Program& program, const Op& op) {
  const Shape& x = program[op.inputs[0]].shape;
  if (has(op, 1)) cost.elementwise += Formula(x.product());
  if (has(op, 2)) cost.elementwise += Formula(x.product());
  if (has(op, 1) && op.attributes<NormAttributes>().weight_plus_one)
    cost.elementwise += program[op.inputs[1]].shape.product();
  add_traffic(cost, program, op);
}

// (x − μ) / √(σ² + ε): mean n; differences n; squares and their mean 2n; + ε and √ 2; quotients n  →  5n + 2
Cost layer_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = rows_and_elements(program[op.inputs[0]].shape, 5, 2);
  add_affine(cost, program, op);
  return cost;
}

// x / √(mean x² + ε): squares and their mean 2n; + ε and √ 2; quotients n  →  3n + 2
Cost rms_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.elementwise = rows_and_elements(program[op.inputs[0]].shape, 3, 2);
  add_affine(cost, program, op);
  return cost;
}

// With x̂ the normalised x, r its factor and ŷ = dy·w:
//   RMSNorm:    dx = r·(ŷ − x̂·mean(ŷ·x̂))               x̂ 1, mean 2, product 1, difference 1, r 1  →  6n
//   LayerNorm:  dx = r·(ŷ − mean(ŷ) − x̂·mean(ŷ·x̂))     x̂ 2, means 3, product 1, differences 2, r 1  →  9n
// The weight costs 3n more (ŷ; dy·x̂ and its sum over rows), the shift n (sum over rows).
Cost backward_cost(const Program& program, const Op& op, std::int64_t per_element) {
  Cost cost;
  const Shape& x = program[op.inputs[1]].shape;
  if (op.inputs[2] != no_tensor) per_element += 3;
  if (op.outputs[2] != no_tensor) per_element += 1;
  if (op.inputs.size() > 4) per_element += 1;  // lowered: added to the gradient of the residual sum
  cost.elementwise = x.product(per_element);
  add_traffic(cost, program, op);
  return cost;
}

Cost layer_backward_cost(const Program& program, const Op& op) { return backward_cost(program, op, 9); }
Cost rms_backward_cost(const Program& program, const Op& op) { return backward_cost(program, op, 6); }

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dx = g.make(x);
  const TensorId d_weight = g.wanted(weight) ? g.make(weight) : no_tensor;
  const TensorId d_bias = g.wanted(bias) ? g.make(bias) : no_tensor;
  const bool layer = op.operation == &layer_norm_operation;
  g.builder().emit(layer ? layer_norm_backward_operation : rms_norm_backward_operation,
                   {g.of(op.outputs[0]), x, weight, op.outputs[1]}, {dx, d_weight, d_bias},
                   op.attributes<NormAttributes>());
  if (g.wanted(x)) g.add(x, dx);
  if (d_weight != no_tensor) g.add(weight, d_weight);
  if (d_bias != no_tensor) g.add(bias, d_bias);
}

}  // namespace

const OperationOf<NormAttributes> layer_norm_operation{{"layer_norm", layer_cost, gradient}};
const OperationOf<NormAttributes> rms_norm_operation{{"rms_norm", rms_cost, gradient}};
const OperationOf<NormAttributes> layer_norm_backward_operation{{"layer_norm_backward", layer_backward_cost, nullptr}};
const OperationOf<NormAttributes> rms_norm_backward_operation{{"rms_norm_backward", rms_backward_cost, nullptr}};

TensorId norm(Builder& builder, const Norm& norm, TensorId x, TensorId weight, TensorId bias, Label label) {
  const Shape shape = builder.shape(x);
  if (weight != no_tensor) {
    check(builder.shape(weight)[-1].size == shape[-1].size, "norm",
          "a weight of " + to_string(builder.shape(weight)) + " for " + to_string(shape), "an equal last dimension");
  }
  const bool layer = norm.kind == Norm::Kind::layer;
  const TensorId y = builder.activation(label, shape);
  // What the backward pass needs of each row: its factor r, and for LayerNorm its mean.
  TensorId statistics = no_tensor;
  if (builder.program().workload.phase == Phase::train) {
    Shape rows = shape.leading();
    if (layer) rows.push(2);
    statistics = builder.tensor(TensorKind::activation, Piece::statistics, rows, DType::float32);
  }
  builder.emit(layer ? layer_norm_operation : rms_norm_operation, {x, weight, bias}, {y, statistics},
               {norm.epsilon, norm.weight_plus_one});
  return y;
}

}  // namespace reckon
