#include "ops/sparsify.h"

#include "ops/rules.h"

#include <cmath>
#include <numbers>

namespace reckon {
namespace {

// Mean 1, deviation 3 and a root, the limit 2, difference and maximum 2.
Cost cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 6, 3));
}

// With g = dy where x is above the limit: dx = g − Σg·(1 + z·(x − mean) / deviation) / n. Mean, deviation and limit
// again 4 and 3, the comparison 1, Σg 1 less one, the rest 4 and 3 a row.
Cost backward_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 10, 5));
}

void gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], sparsify_backward_operation, {g.of(op.outputs[0]), op.inputs[0]},
               op.attributes<SparsifyAttributes>());
}

}  // namespace

const OperationOf<SparsifyAttributes> sparsify_operation{{"sparsify", cost, gradient}};
const OperationOf<SparsifyAttributes> sparsify_backward_operation{{"sparsify_backward", backward_cost, nullptr}};

TensorId sparsify(Builder& builder, TensorId x, double share, Label label) {
  check(share > 0.0 && share < 1.0, "sparsify", "a share of " + std::to_string(share), "one between 0 and 1");
  return builder.compute(label, builder.shape(x), sparsify_operation, {x}, {normal_quantile(share)});
}

// Newton's method on Φ(z) = share from 0, from where every step stays on this side of z: Φ is concave above 0, convex
// below.
double normal_quantile(double share) {
  double z = 0.0;
  for (int i = 0; i < 100; ++i) {
    const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (below - share) / density;
    z -= step;
    if (std::abs(step) < 1e-15) break;
  }
  return z;
}

}  // namespace reckon
