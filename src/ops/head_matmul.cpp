#include "ops/head_matmul.h"

#include "ops/rules.h"

namespace reckon {
namespace {

Cost cost(const Program& program, const Op& op) {
  const Tensor& x = program[op.inputs[0]];
  const Tensor& weight = program[op.inputs[1]];
  const Tensor& y = program[op.outputs[0]];
  Cost cost;
  cost.matmul = Formula(x.shape.product(2).times(y.shape[-1]));
  // Only the slice is read: heads · rows · rank.
  const Count slice = Term(x.shape[2].size).times(x.shape[-1]).times(y.shape[-1]).value();
  cost.weights = whole_blocks(weight.dtype, slice);
  cost.read = bytes(x) + cost.weights;
  cost.written = bytes(y);
  return cost;
}

}  // namespace

// Used in decoding only, so it is never differentiated.
const OperationOf<HeadMatmulAttributes> head_matmul_operation{{"head_matmul", cost, nullptr}};

TensorId head_matmul(Builder& builder, TensorId x, TensorId weight, std::int64_t first, Dim rows, bool into_latent,
                     Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(in.rank() == 4 && in[-1].size == (into_latent ? rows.size : w[-1].size), "head_matmul",
        to_string(in) + " and " + to_string(w), "heads as wide as the slice of the weight");
  const Shape shape = in.leading().push(into_latent ? w[-1] : rows);
  return builder.compute(label, shape, head_matmul_operation, {x, weight}, {first, into_latent});
}

}  // namespace reckon
