#include "ops/cross_entropy.h"

#include "ops/check.h"
#include "ops/gradient.h"

namespace reckon {
namespace {

// A row of V: maximum V − 1, differences V, exponentials V, sum V − 1, logarithm, + maximum, − label's logit,
// and its share of the mean over n rows (n − 1 additions, one division)  →  4V + 2
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& logits = program[op.inputs[0]].shape;
  cost.elementwise = logits.product(4);
  cost.elementwise += Formula(logits.leading().product(2));
  add_traffic(cost, program, op);
  return cost;
}

// (e^(x − lse) − [label]) / n: difference, exponential, division per element, one subtraction per row
Cost backward_cost(const Program& program, const Op& op) {
  Cost cost;
  const Shape& logits = program[op.inputs[0]].shape;
  cost.elementwise = logits.product(3);
  cost.elementwise += Formula(logits.leading().product());
  add_traffic(cost, program, op);
  return cost;
}

void gradient(Gradient& g, const Op& op) {
  const TensorId d_logits = g.make(op.inputs[0]);
  g.builder().emit(cross_entropy_backward_operation, {op.inputs[0], op.inputs[1], op.outputs[1]}, {d_logits});
  g.add(op.inputs[0], d_logits);
}

}  // namespace

const OperationOf<> cross_entropy_operation{{"cross_entropy", cost, gradient}};
const OperationOf<> cross_entropy_backward_operation{{"cross_entropy_backward", backward_cost, nullptr}};

TensorId cross_entropy(Builder& builder, TensorId logits, TensorId labels, Label label) {
  const Shape shape = builder.shape(logits);
  check(builder.shape(labels).same_sizes(shape.leading()), "cross_entropy",
        to_string(shape) + " and labels " + to_string(builder.shape(labels)), "a label for each row");
  const TensorId loss = builder.tensor(TensorKind::activation, label, {}, DType::float32);
  // The logarithm of each row's sum of exponentials, kept for the backward pass.
  const TensorId lse =
      builder.tensor(TensorKind::activation, {Piece::statistics, "log_sum_exp"}, shape.leading(), DType::float32);
  builder.emit(cross_entropy_operation, {logits, labels}, {loss, lse});
  return loss;
}

}  // namespace reckon
