#include "ops/hyper.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// Of a row with n streams. Each weight: times its scale, + base 2. Reading: σ 4, + ε 1; writing: σ 4, ·2 1. The matrix:
// softmax of n rows, 5n − 2 each, + ε n²; and 2i − 1 times sums n·(n − 1), + ε n, and quotients n².
Cost weights_cost(const Program& program, const Op& op) {
  const auto& a = op.attributes<HyperAttributes>();
  const Shape rows = program[op.inputs[0]].shape.leading();
  const std::int64_t n = a.streams;
  const bool alone = program[op.inputs[0]].shape[-1].size == n;
  const std::int64_t operations = alone ? 7 * n : 12 * n + (4 * a.iterations + 6) * n * n;
  return streaming_cost(program, op, rows.product(operations));
}

// A product for each stream, and one addition less.
Cost collapse_cost(const Program& program, const Op& op) {
  Formula operations = program[op.inputs[0]].shape.product(2);
  operations += program[op.outputs[0]].shape.product(-1);
  Cost cost = streaming_cost(program, op, std::move(operations));
  return cost;
}

// The matrix times the streams; what was made times a weight, and its sum with that.
Cost connect_cost(const Program& program, const Op& op) {
  const Shape& x = program[op.inputs[0]].shape;
  const std::int64_t n = x[-1].size / program[op.inputs[2]].shape[-1].size;
  return streaming_cost(program, op, x.product(2), x.product(2 * n));
}

}  // namespace

const OperationOf<> open_streams_operation{{"open_streams", copy_cost, nullptr}};
const OperationOf<HyperAttributes> hyper_weights_operation{{"hyper_weights", weights_cost, nullptr}};
const OperationOf<> collapse_operation{{"collapse", collapse_cost, nullptr}};
const OperationOf<> connect_operation{{"connect", connect_cost, nullptr}};

TensorId open_streams(Builder& builder, TensorId x, std::int64_t streams, Label label) {
  const Shape shape = builder.shape(x);
  return builder.compute(label, shape.leading().push(Dim(streams * shape[-1].size)), open_streams_operation, {x});
}

TensorId hyper_weights(Builder& builder, TensorId logits, TensorId base, TensorId scales,
                       const HyperAttributes& attributes, Label label) {
  const Shape shape = builder.shape(logits);
  const std::int64_t n = attributes.streams, width = shape[-1].size, three = width == n ? 1 : 3;
  check((width == n || width == n * (n + 2)) && builder.shape(base).elements() == width &&
            builder.shape(scales).elements() == three,
        "hyper_weights", to_string(shape) + " and " + to_string(builder.shape(base)), "weights of each stream");
  return builder.compute(label, shape, hyper_weights_operation, {logits, base, scales}, attributes);
}

TensorId collapse(Builder& builder, TensorId streams, TensorId weights, Dim d, Label label) {
  const Shape x = builder.shape(streams);
  check(x[-1].size % d.size == 0 && builder.shape(weights)[-1].size >= x[-1].size / d.size, "collapse",
        to_string(x) + " and " + to_string(builder.shape(weights)), "a weight for each stream");
  return builder.compute(label, x.leading().push(d), collapse_operation, {streams, weights});
}

TensorId connect(Builder& builder, TensorId streams, TensorId weights, TensorId made, Label label) {
  const Shape x = builder.shape(streams), y = builder.shape(made);
  const std::int64_t n = x[-1].size / y[-1].size;
  check(x[-1].size % y[-1].size == 0 && builder.shape(weights)[-1].size == n * (n + 2), "connect",
        to_string(x) + " and " + to_string(builder.shape(weights)), "weights and a matrix of the streams");
  return builder.compute(label, x, connect_operation, {streams, weights, made});
}

}  // namespace reckon
