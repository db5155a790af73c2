#include "ops/norm.h"

#include "ops/rules.h"

namespace reckon {
namespace {

//   LayerNorm  (x − μ) / √(σ² + ε):  mean n; differences n; squares and their mean 2n; + ε and √ 2; quotients n → 5n +
//   2 RMSNorm    x / √(mean x² + ε):   squares and their mean 2n; + ε and √ 2; quotients n  →  3n + 2
// What is learned adds: w and b are one operation each; 1 + w is computed once per element of w.
template <std::int64_t per_element>
Cost cost(const Program& program, const Op& op) {
  const Shape& x = program[op.inputs[0]].shape;
  const TensorId weight = op.inputs[1], bias = op.inputs[2];
  Formula operations = elements_and_rows(x, per_element, 2);
  if (weight != no_tensor) operations += x.product();
  if (bias != no_tensor) operations += x.product();
  if (weight != no_tensor && op.attributes<NormAttributes>().weight_plus_one)
    operations += program[weight].shape.product();
  return streaming_cost(program, op, std::move(operations));
}

// With x̂ the normalised x, r its factor and ŷ = dy·w:
//   RMSNorm:    dx = r·(ŷ − x̂·mean(ŷ·x̂))               x̂ 1, mean 2, product 1, difference 1, r 1  →  6n
//   LayerNorm:  dx = r·(ŷ − mean(ŷ) − x̂·mean(ŷ·x̂))     x̂ 2, means 3, product 1, differences 2, r 1  →  9n
// The weight costs 3n more (ŷ; dy·x̂ and its sum over rows; ŷ alone where it is frozen), the shift n (sum over rows).
template <std::int64_t per_element>
Cost backward_cost(const Program& program, const Op& op) {
  std::int64_t operations = per_element;
  if (op.inputs[2] != no_tensor) operations += op.outputs[1] != no_tensor ? 3 : 1;
  if (op.outputs[2] != no_tensor) operations += 1;
  if (op.inputs.size() > 4) operations += 1;  // lowered: added to the gradient of the residual sum
  return streaming_cost(program, op, program[op.inputs[1]].shape.product(operations));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dx = g.make(x), d_weight = g.make_wanted(weight), d_bias = g.make_wanted(bias);
  const bool layer = op.operation == &layer_norm_operation;
  g.builder().emit(layer ? layer_norm_backward_operation : rms_norm_backward_operation,
                   {g.of(op.outputs[0]), x, weight, op.outputs[1]}, {dx, d_weight, d_bias},
                   op.attributes<NormAttributes>());
  g.add(x, dx);
  g.add(weight, d_weight);
  g.add(bias, d_bias);
}

}  // namespace

const OperationOf<NormAttributes> layer_norm_operation{{"layer_norm", cost<5>, gradient}};
const OperationOf<NormAttributes> rms_norm_operation{{"rms_norm", cost<3>, gradient}};
const OperationOf<NormAttributes> layer_norm_backward_operation{{"layer_norm_backward", backward_cost<9>, nullptr}};
const OperationOf<NormAttributes> rms_norm_backward_operation{{"rms_norm_backward", backward_cost<6>, nullptr}};

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
