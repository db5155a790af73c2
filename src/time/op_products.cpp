#include "time/op_products.h"

#include <algorithm>

#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/project.h"

namespace reckon {

bool is_weight_gradient(const Op& op) {
  return op.operation == &weight_gradient_operation || op.operation == &grouped_weight_gradient_operation ||
         (op.operation == &matmul_operation && op.attributes<MatmulAttributes>().transpose_a);
}

bool is_dense_product(const Op& op) {
  return op.operation == &project_operation || op.operation == &grouped_project_operation ||
         op.operation == &matmul_operation || op.operation == &grouped_matmul_operation || is_weight_gradient(op);
}

ProductShape shape_of(const Program& program, const Op& op, double flops) {
  const Shape& y = program[op.outputs[0]].shape;
  ProductShape shape;
  if (is_weight_gradient(op)) {
    shape.batch = op.operation == &grouped_weight_gradient_operation ? static_cast<double>(y[0].size) : 1;
    shape.m = static_cast<double>(y[-2].size);
    shape.n = static_cast<double>(y[-1].size);
    shape.k = flops / (2 * shape.batch * shape.m * shape.n);
    return shape;
  }
  shape.n = static_cast<double>(y[-1].size);
  shape.k = static_cast<double>(program[op.inputs[0]].shape[-1].size);
  const double rows = flops / (2 * shape.n * shape.k);
  const Shape& weight = program[op.inputs[1]].shape;
  if (weight.rank() > 2) shape.batch = std::min(static_cast<double>(weight[0].size), rows);
  shape.m = rows / shape.batch;
  return shape;
}

}  // namespace reckon
