#include "ops/cross_entropy.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// A row of V: maximum V − 1, differences V, exponentials V, sum V − 1, logarithm, + maximum, − label's logit,
// and its share of the mean over n rows (n − 1 additions, one division)  →  4V + 2
Cost cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.inputs[0]].shape, 4, 2));
}

// (e^(x − lse) − [label]) / n: difference, exponential, division per element, one subtraction per row
Cost backward_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.inputs[0]].shape, 3, 1));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId logits = op.inputs[0], labels = op.inputs[1], log_sum_exp = op.outputs[1];
  g.contribute(logits, cross_entropy_backward_operation, {logits, labels, log_sum_exp});
}

}  // namespace

const OperationOf<> cross_entropy_operation{{"cross_entropy", cost, gradient}};
const OperationOf<> cross_entropy_backward_operation{{"cross_entropy_backward", backward_cost, nullptr}};

TensorId cross_entropy(Builder& builder, TensorId logits, TensorId labels, Label label) {
  const Shape shape = builder.shape(logits);
  check(builder.shape(labels).same_sizes(shape.leading()), "cross_entropy",
        to_string(shape) + " and labels " + to_string(builder.shape(labels)), "a label for each row");
  const TensorId loss = builder.tensor(TensorKind::activation, label, {}, DType::float32);
  // The logarithm of each row's sum of exponentials, saved for the backward pass.
  const TensorId lse =
      builder.tensor(TensorKind::activation, {Piece::statistics, "log_sum_exp"}, shape.leading(), DType::float32);
  builder.emit(cross_entropy_operation, {logits, labels}, {loss, lse});
  return loss;
}

}  // namespace reckon
