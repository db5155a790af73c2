#include "ops/elementwise.h"

#include "ops/rules.h"

namespace reckon {
namespace {

void add_gradient(Gradient& g, const Op& op) {
  const TensorId dy = g.of(op.outputs[0]);
  const TensorId a = op.inputs[0], b = op.inputs[1];
  g.add(a, dy);
  const bool repeated = g.builder().shape(b).rank() < g.builder().shape(a).rank();
  if (repeated)
    g.contribute(b, sum_rows_operation, {dy});
  else
    g.add(b, dy);
}

void scale_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], scale_operation, {g.of(op.outputs[0])}, op.attributes<ScaleAttributes>());
}

void softcap_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], softcap_backward_operation, {g.of(op.outputs[0]), op.outputs[0]},
               op.attributes<SoftcapAttributes>());
}

// Two comparisons, and the same two backward: what was cut off has no gradient. From above alone one.
Cost clip_cost(const Program& program, const Op& op) {
  const std::int64_t comparisons = op.attributes<ClipAttributes>().above ? 1 : 2;
  return streaming_cost(program, op, program[op.outputs[0]].shape.product(comparisons));
}

void clip_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], clip_backward_operation, {g.of(op.outputs[0]), op.inputs[0]},
               op.attributes<ClipAttributes>());
}

void dropout_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], dropout_operation, {g.of(op.outputs[0])}, op.attributes<DropoutAttributes>());
}

}  // namespace

const OperationOf<> add_operation{{"add", output_cost<1>, add_gradient}};
const OperationOf<> sum_rows_operation{{"sum_rows", sum_cost, nullptr}};
const OperationOf<ScaleAttributes> scale_operation{{"scale", output_cost<1>, scale_gradient}};
// divide, tanh, multiply
const OperationOf<SoftcapAttributes> softcap_operation{{"softcap", output_cost<3>, softcap_gradient}};
// dx = dy·(1 − (y/c)²): divide, multiply, subtract, multiply
const OperationOf<SoftcapAttributes> softcap_backward_operation{{"softcap_backward", output_cost<4>, nullptr}};
const OperationOf<ClipAttributes> clip_operation{{"clip", clip_cost, clip_gradient}};
const OperationOf<ClipAttributes> clip_backward_operation{{"clip_backward", clip_cost, nullptr}};
// A comparison with a random number and a product; drawing the number is not counted.
const OperationOf<DropoutAttributes> dropout_operation{{"dropout", output_cost<2>, dropout_gradient}};
// Rounding is no arithmetic of the network.
const OperationOf<> narrow_operation{{"narrow", copy_cost, nullptr}};
const OperationOf<> widen_operation{{"widen", copy_cost, nullptr}};

TensorId add(Builder& builder, TensorId a, TensorId b, Label label) {
  const Shape large = builder.shape(a), small = builder.shape(b);
  bool fits = small.rank() <= large.rank();
  for (int i = 1; fits && i <= small.rank(); ++i) fits = small[-i].size == large[-i].size;
  check(fits, "add", to_string(large) + " and " + to_string(small), "shapes that agree from the last dimension on");
  return builder.compute(label, large, add_operation, {a, b});
}

TensorId scale(Builder& builder, TensorId x, double factor, Label label) {
  return builder.compute(label, builder.shape(x), scale_operation, {x}, {factor});
}

TensorId softcap(Builder& builder, TensorId x, double cap, Label label) {
  return builder.compute(label, builder.shape(x), softcap_operation, {x}, {cap});
}

TensorId clip(Builder& builder, TensorId x, double limit, Label label, bool above) {
  return builder.compute(label, builder.shape(x), clip_operation, {x}, {limit, above});
}

TensorId dropout(Builder& builder, TensorId x, double probability, std::int64_t stream, Label label) {
  check(probability > 0.0 && probability < 1.0, "dropout", std::to_string(probability), "a probability below 1");
  return builder.compute(label, builder.shape(x), dropout_operation, {x}, {probability, stream});
}

}  // namespace reckon
