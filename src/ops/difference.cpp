#include "ops/difference.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// λ: two dot products 4n − 2, two exponentials, a difference and a sum.
Formula lambda_operations(const Program& program, TensorId vectors, std::int64_t times) {
  Formula operations(4 * times, {program[vectors].shape[-1]});
  operations += Formula(2 * times, {});
  return operations;
}

Cost cost(const Program& program, const Op& op) {
  Formula operations = program[op.outputs[0]].shape.product(2);
  operations += lambda_operations(program, op.inputs[1], 1);
  return streaming_cost(program, op, std::move(operations));
}

// dx of a second is −λ·dy, 1; dλ = −Σ dy·x, 2; da = dλ·e^(a·b)·b and so on, 4n and 2.
Cost backward_cost(const Program& program, const Op& op) {
  const bool trained = op.outputs[1] != no_tensor;
  Formula operations = program[op.inputs[0]].shape.product(trained ? 3 : 1);
  operations += lambda_operations(program, op.inputs[2], trained ? 2 : 1);
  return streaming_cost(program, op, std::move(operations));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], vectors = op.inputs[1];
  const TensorId dx = g.make(x), d_vectors = g.make_wanted(vectors);
  g.builder().emit(difference_backward_operation, {g.of(op.outputs[0]), x, vectors}, {dx, d_vectors},
                   op.attributes<DifferenceAttributes>());
  g.add(x, dx);
  g.add(vectors, d_vectors);
}

}  // namespace

const OperationOf<DifferenceAttributes> difference_operation{{"difference", cost, gradient}};
const OperationOf<DifferenceAttributes> difference_backward_operation{{"difference_backward", backward_cost, nullptr}};

TensorId difference(Builder& builder, TensorId x, TensorId vectors, const DifferenceAttributes& attributes,
                    Label label) {
  const Shape shape = builder.shape(x), four = builder.shape(vectors);
  check(shape.rank() == 4 && attributes.group > 0 && shape[2].size % (2 * attributes.group) == 0, "difference",
        to_string(shape), "heads in groups of " + std::to_string(2 * attributes.group));
  check(four.rank() == 2 && four[0].size == 4, "difference", to_string(four), "four vectors");
  return builder.compute(label, {shape[0], shape[1], shape[2].size / 2, shape[3]}, difference_operation, {x, vectors},
                         attributes);
}

}  // namespace reckon
