// Taking rows to their experts, and back with their weights.
#include "ops/mixture.h"
#include "ops/rules.h"

namespace reckon {
namespace {

// k products and k − 1 additions an element; the additions alone where rows are weighted already
Cost combine_cost(const Program& program, const Op& op) {
  Formula operations = program[op.inputs[0]].shape.product(op.inputs[1] != no_tensor ? 2 : 1);
  operations += program[op.outputs[0]].shape.product(-1);
  return streaming_cost(program, op, std::move(operations));
}

// d_row = weight · dy (one product), d_weight = Σ row · dy (a product and an addition, less one a row)
Cost combine_backward_cost(const Program& program, const Op& op) {
  if (op.outputs[1] == no_tensor) return copy_cost(program, op);
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 3, -1));
}

void dispatch_gradient(Gradient& g, const Op& op) {
  const TensorId order = op.outputs[1];
  g.contribute(op.inputs[0], dispatch_backward_operation, {g.of(op.outputs[0]), order});
}

void combine_gradient(Gradient& g, const Op& op) {
  const TensorId rows = op.inputs[0], weights = op.inputs[1], order = op.inputs[2];
  const bool weighted = weights != no_tensor;
  const TensorId d_rows = g.make(rows), d_weights = weighted ? g.make(weights) : no_tensor;
  g.builder().emit(combine_backward_operation, {g.of(op.outputs[0]), weighted ? rows : no_tensor, weights, order},
                   {d_rows, d_weights});
  g.add(rows, d_rows);
  if (weighted) g.add(weights, d_weights);
}

void weigh_gradient(Gradient& g, const Op& op) {
  const TensorId rows = op.inputs[0], weights = op.inputs[1], order = op.inputs[2];
  const TensorId d_rows = g.make(rows), d_weights = g.make(weights);
  g.builder().emit(weigh_backward_operation, {g.of(op.outputs[0]), rows, weights, order}, {d_rows, d_weights});
  g.add(rows, d_rows);
  g.add(weights, d_weights);
}

void pass_identity_gradient(Gradient& g, const Op& op) {
  const TensorId made = op.inputs[0], rows = op.inputs[1];
  const TensorId d_made = g.make(made), d_rows = g.make_wanted(rows);
  g.builder().emit(pass_identity_backward_operation, {g.of(op.outputs[0]), op.inputs[2]}, {d_made, d_rows},
                   op.attributes<PassIdentityAttributes>());
  g.add(made, d_made);
  g.add(rows, d_rows);
}

}  // namespace

const OperationOf<> dispatch_operation{{"dispatch", copy_cost, dispatch_gradient}};
// The k rows of a token are summed: k − 1 additions an element.
const OperationOf<> dispatch_backward_operation{{"dispatch_backward", sum_cost, nullptr}};
const OperationOf<> combine_operation{{"combine", combine_cost, combine_gradient}};
const OperationOf<> combine_backward_operation{{"combine_backward", combine_backward_cost, nullptr}};
// Nothing is computed: rows are kept, or taken from the others.
const OperationOf<PassIdentityAttributes> pass_identity_operation{{"pass_identity", copy_cost, pass_identity_gradient}};
const OperationOf<PassIdentityAttributes> pass_identity_backward_operation{
    {"pass_identity_backward", copy_cost, nullptr}};
const OperationOf<> weigh_operation{{"weigh", output_cost<1>, weigh_gradient}};
const OperationOf<> weigh_backward_operation{{"weigh_backward", combine_backward_cost, nullptr}};

Dispatched dispatch(Builder& builder, TensorId x, TensorId choice, Dim experts) {
  const Shape chosen = builder.shape(choice);
  const TensorId rows = builder.activation("rows", Shape(chosen).push(builder.shape(x)[-1]));
  const TensorId order = builder.tensor(TensorKind::activation, "order", chosen, DType::int32);
  const TensorId offsets = builder.tensor(TensorKind::activation, "offsets", {experts.size + 1}, DType::int32);
  builder.emit(dispatch_operation, {x, choice}, {rows, order, offsets});
  return {rows, order, offsets};
}

TensorId pass_identity(Builder& builder, TensorId made, TensorId rows, TensorId offsets, std::int64_t experts,
                       Label label) {
  const Shape shape = builder.shape(made);
  check((rows == no_tensor || shape.same_sizes(builder.shape(rows))) && builder.shape(offsets)[0].size > experts,
        "pass_identity", to_string(shape) + " and " + to_string(builder.shape(rows == no_tensor ? made : rows)),
        "rows that are as wide as what made them");
  return builder.compute(label, shape, pass_identity_operation, {made, rows, offsets}, {experts});
}

TensorId weigh(Builder& builder, TensorId rows, TensorId weights, TensorId order, Label label) {
  const Shape in = builder.shape(rows);
  check(builder.shape(weights).same_sizes(in.leading()), "weigh",
        to_string(in) + " and " + to_string(builder.shape(weights)), "a weight for each row");
  return builder.compute(label, in, weigh_operation, {rows, weights, order});
}

TensorId combine(Builder& builder, TensorId rows, TensorId weights, TensorId order, Label label) {
  const Shape in = builder.shape(rows);
  check(weights == no_tensor || builder.shape(weights).same_sizes(in.leading()), "combine",
        to_string(in) + (weights == no_tensor ? "" : " and " + to_string(builder.shape(weights))),
        "a weight for each row");
  return builder.compute(label, in.leading().leading().push(in[-1]), combine_operation, {rows, weights, order});
}

}  // namespace reckon
