#include "ops/routed_heads.h"

#include "ops/rules.h"

namespace reckon {
namespace {

void gather_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], scatter_heads_operation, {g.of(op.outputs[0]), op.inputs[1]});
}

void scatter_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], gather_heads_operation, {g.of(op.outputs[0]), op.inputs[1]});
}

}  // namespace

const OperationOf<> gather_heads_operation{{"gather_heads", copy_cost, gather_gradient}};
const OperationOf<> scatter_heads_operation{{"scatter_heads", copy_cost, scatter_gradient}};

TensorId gather_heads(Builder& builder, TensorId rows, TensorId order, Dim kv_heads, Label label) {
  const Shape in = builder.shape(rows);
  check(in.rank() == 4 && in[3].size % kv_heads.size == 0 && builder.shape(order).same_sizes(in.leading()),
        "gather_heads", to_string(in) + " in the order of " + to_string(builder.shape(order)),
        "a place for each row, and rows of " + std::to_string(kv_heads.size) + " heads");
  return builder.compute(
      label, {in[0], in[1], {in[2].size * kv_heads.size, Symbol::heads}, {in[3].size / kv_heads.size, Symbol::d_head}},
      gather_heads_operation, {rows, order});
}

TensorId scatter_heads(Builder& builder, TensorId heads, TensorId order, Label label) {
  const Shape in = builder.shape(heads), places = builder.shape(order);
  check(in.rank() == 4 && places.rank() == 3 && in[2].size % places[2].size == 0, "scatter_heads",
        to_string(in) + " in the order of " + to_string(places), "heads for each of a token's experts");
  return builder.compute(label, Shape(places).push(in[2].size / places[2].size * in[3].size), scatter_heads_operation,
                         {heads, order});
}

}  // namespace reckon
