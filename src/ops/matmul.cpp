#include "ops/matmul.h"

#include "ops/check.h"
#include "ops/gradient.h"
#include "ops/sum_rows.h"

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
  Cost cost;
  cost.matmul = Formula(a.product(2).times(y[-1]));
  if (op.inputs[2] != no_tensor) cost.elementwise = y.product();
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dy = g.of(op.outputs[0]);
  if (g.wanted(x)) {
    const TensorId dx = g.make(x);
    g.builder().emit(matmul_operation, {dy, weight, no_tensor}, {dx}, {});
    g.add(x, dx);
  }
  if (g.wanted(weight)) {
    const TensorId dw = g.make(weight);
    g.builder().emit(matmul_operation, {dy, x, no_tensor}, {dw}, {.transpose_a = true});
    g.add(weight, dw);
  }
  if (g.wanted(bias)) g.add(bias, sum_rows(g, dy, bias));
}

}  // namespace

const OperationOf<MatmulAttributes> matmul_operation{{"matmul", cost, gradient}};

TensorId linear(Builder& builder, TensorId x, TensorId weight, TensorId bias, Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(w.rank() == 2 && in[-1].size == w[-1].size, "matmul", to_string(in) + " and " + to_string(w),
        "a last dimension that both share");
  Shape shape = in.leading();
  shape.push(w[0]);
  const TensorId y = builder.activation(label, shape);
  builder.emit(matmul_operation, {x, weight, bias}, {y}, {.transpose_b = true});
  return y;
}

}  // namespace reckon
