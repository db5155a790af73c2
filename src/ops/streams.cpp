#include "ops/streams.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// n × n numbers times n × d, and n additions for each of d.
Cost predict_cost(const Program& program, const Op& op) {
  const std::int64_t n = std::ssize(op.outputs);
  const Shape& x = program[op.inputs[0]].shape;
  return streaming_cost(program, op, x.product(n), x.product(2 * n * n));
}

// dx = dy + Cᵀ·dy and dC = dy·xᵀ
Cost predict_backward_cost(const Program& program, const Op& op) {
  const std::int64_t n = std::ssize(op.outputs) - 1;
  const Shape& x = program[op.outputs[0]].shape;
  return streaming_cost(program, op, x.product(n), x.product(4 * n * n));
}

void predict_gradient(Gradient& g, const Op& op) {
  TensorIds inputs, outputs;
  for (TensorId y : op.outputs) inputs.push_back(g.of(y));
  inputs.insert(inputs.end(), op.inputs.begin(), op.inputs.end());
  for (TensorId x : op.inputs) outputs.push_back(g.make(x));
  g.builder().emit(predict_backward_operation, std::move(inputs), outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) g.add(op.inputs[i], outputs[i]);
}

// x − pₐ once; a product and an addition for each stream; 1 + cᵢ.
Cost correct_cost(const Program& program, const Op& op) {
  const std::int64_t n = std::ssize(op.outputs);
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 2 * n + 1, n));
}

// dx = Σᵢ (1 + cᵢ)·dyᵢ: 2n − 1; dpₐ = dyₐ − dx: 1; dcᵢ = Σ dyᵢ·(x − pₐ): 2n, less n a row, and x − pₐ: 1.
// The other predictions' gradients are those of the corrected ones.
Cost correct_backward_cost(const Program& program, const Op& op) {
  const std::int64_t n = std::ssize(op.inputs) - 3;
  return streaming_cost(program, op, program[op.outputs[0]].shape.product(4 * n + 1));
}

void correct_gradient(Gradient& g, const Op& op) {
  const std::size_t n = op.outputs.size(), active = static_cast<std::size_t>(op.attributes<CorrectAttributes>().active);
  const TensorId p = op.inputs[active], made = op.inputs[n], coefficients = op.inputs[n + 1];
  TensorIds inputs;
  for (TensorId y : op.outputs) inputs.push_back(g.of(y));
  inputs.insert(inputs.end(), {p, made, coefficients});
  const TensorId dp = g.make(p), d_made = g.make(made), dc = g.make(coefficients);
  g.builder().emit(correct_backward_operation, std::move(inputs), {dp, d_made, dc}, op.attributes<CorrectAttributes>());
  for (std::size_t i = 0; i < n; ++i) {
    if (i != active && g.of(op.outputs[i]) != no_tensor) g.add(op.inputs[i], g.of(op.outputs[i]));
  }
  g.add(p, dp);
  g.add(made, d_made);
  g.add(coefficients, dc);
}

// Two mean squares, 4; the product 1; a row's maximum, quotient and root.
Cost magnitude_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 5, 3));
}

// dx = r·dy − x·f, dt = t·h: 4, f and h 6 a row; the mean squares again 4, their ratio r 3 a row; Σ dy·x 2, less one.
Cost magnitude_backward_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, elements_and_rows(program[op.outputs[0]].shape, 10, 8));
}

void magnitude_gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], target = op.inputs[1];
  const TensorId dx = g.make(x), dt = g.make(target);
  g.builder().emit(magnitude_backward_operation, {g.of(op.outputs[0]), x, target}, {dx, dt});
  g.add(x, dx);
  g.add(target, dt);
}

void check_streams(const Builder& builder, const char* operation, const TensorIds& streams) {
  check(!streams.empty(), operation, "no streams", "at least one");
  for (TensorId x : streams)
    check(builder.shape(x).same_sizes(builder.shape(streams.front())), operation,
          to_string(builder.shape(streams.front())) + " and " + to_string(builder.shape(x)), "streams of one shape");
}

// A row of `each` numbers beside each of x.
void check_rows(const Builder& builder, const char* operation, TensorId x, TensorId rows, std::int64_t each) {
  check(builder.shape(rows).elements() == builder.shape(x).leading().elements() * each, operation,
        to_string(builder.shape(rows)) + " beside " + to_string(builder.shape(x)),
        std::to_string(each) + " numbers for each row");
}

TensorIds like(Builder& builder, const TensorIds& streams, Label label) {
  TensorIds made;
  for (TensorId x : streams) made.push_back(builder.activation(label, builder.shape(x)));
  return made;
}

}  // namespace

const OperationOf<> predict_operation{{"predict", predict_cost, predict_gradient}};
const OperationOf<> predict_backward_operation{{"predict_backward", predict_backward_cost, nullptr}};
const OperationOf<CorrectAttributes> correct_operation{{"correct", correct_cost, correct_gradient}};
const OperationOf<CorrectAttributes> correct_backward_operation{{"correct_backward", correct_backward_cost, nullptr}};
const OperationOf<> magnitude_operation{{"magnitude", magnitude_cost, magnitude_gradient}};
const OperationOf<> magnitude_backward_operation{{"magnitude_backward", magnitude_backward_cost, nullptr}};

TensorIds predict(Builder& builder, const TensorIds& streams, TensorId coefficients, Label label) {
  check_streams(builder, "predict", streams);
  check_rows(builder, "predict", streams.front(), coefficients, std::ssize(streams) * std::ssize(streams));
  TensorIds inputs = streams;
  inputs.push_back(coefficients);
  TensorIds outputs = like(builder, streams, label);
  builder.emit(predict_operation, std::move(inputs), outputs);
  return outputs;
}

TensorIds correct(Builder& builder, const TensorIds& predicted, TensorId made, TensorId coefficients,
                  std::int64_t active, Label label) {
  TensorIds inputs = predicted;
  inputs.push_back(made);
  check_streams(builder, "correct", inputs);
  check_rows(builder, "correct", made, coefficients, std::ssize(predicted));
  check(active >= 0 && active < std::ssize(predicted), "correct", "stream " + std::to_string(active),
        "one of " + std::to_string(predicted.size()));
  inputs.push_back(coefficients);
  TensorIds outputs = like(builder, predicted, label);
  builder.emit(correct_operation, std::move(inputs), outputs, {active});
  return outputs;
}

TensorId match_magnitude(Builder& builder, TensorId x, TensorId target, Label label) {
  check_streams(builder, "magnitude", {x, target});
  return builder.compute(label, builder.shape(x), magnitude_operation, {x, target});
}

}  // namespace reckon
