#include "ops/matmul.h"

#include "ops/elementwise.h"
#include "ops/rules.h"

namespace reckon {
namespace {

// The three forms, by what is transposed:
//   x·Wᵀ    (rows × K)·(N × K)ᵀ → rows × N     transpose_b
//   dy·W    (rows × N)·(N × K)  → rows × K
//   dyᵀ·x   (rows × N)ᵀ·(rows × K) → N × K     transpose_a
// In each, FLOPs are 2 · rows · N · K: all extents of the first factor times the output's last.
Cost cost(const Program& program, const Op& op) {
  const Shape& a = program[op.inputs[0]].shape;
  const Shape& y = program[op.outputs[0]].shape;
  Formula bias = op.inputs[2] != no_tensor ? Formula(y.product()) : Formula();
  return streaming_cost(program, op, std::move(bias), a.product(2).times(y[-1]));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dy = g.of(op.outputs[0]);
  g.contribute(x, matmul_operation, {dy, weight, no_tensor}, {});
  g.contribute(weight, matmul_operation, {dy, x, no_tensor}, {.transpose_a = true});
  g.contribute(bias, sum_rows_operation, {dy});
}

}  // namespace

const OperationOf<MatmulAttributes> matmul_operation{{"matmul", cost, gradient}};

TensorId linear(Builder& builder, TensorId x, TensorId weight, TensorId bias, Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(w.rank() == 2 && in[-1].size == w[-1].size, "matmul", to_string(in) + " and " + to_string(w),
        "a last dimension that both share");
  return builder.compute(label, in.leading().push(w[0]), matmul_operation, {x, weight, bias}, {.transpose_b = true});
}

}  // namespace reckon
