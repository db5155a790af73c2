#include "ops/convolved_heads.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// A product of each head's window with its matrices; a is added to each input once, b to each result.
Cost convolution_cost(const Program& program, const Op& op) {
  const Shape &x = program[op.inputs[0]].shape, &weight = program[op.inputs[1]].shape;
  Cost cost = streaming_cost(program, op, x.product(2), x.product(2).times(weight[1]).times(weight[2]));
  add_state(program, op, 4, cost);
  return cost;
}

Cost delay_cost(const Program& program, const Op& op) {
  Cost cost = copy_cost(program, op);
  add_state(program, op, 1, cost);
  return cost;
}

// Of each query: the sum, the half, and its addition to the mean of its key, or the quotient of that.
Cost average_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, program[op.inputs[0]].shape.product(3));
}

}  // namespace

const OperationOf<> head_convolution_operation{{"head_convolution", convolution_cost, nullptr}};
const OperationOf<> delay_operation{{"delay", delay_cost, nullptr}};
const OperationOf<> average_heads_operation{{"average_heads", average_cost, nullptr}};
const OperationOf<> scale_heads_operation{{"scale_heads", output_cost<1>, nullptr}};

TensorId head_convolution(Builder& builder, TensorId x, TensorId weight, TensorId shift, TensorId bias, TensorId cache,
                          Label label) {
  const Shape in = builder.shape(x), w = builder.shape(weight);
  check(in.rank() == 4 && w.rank() == 3 && w[0].size == in[2].size * in[3].size && w[1].size == in[3].size,
        "head_convolution", to_string(in) + " and " + to_string(w), "a matrix for each head and token of its window");
  const std::int64_t channels = w[0].size;
  check(builder.shape(shift).elements() == channels && builder.shape(bias).elements() == channels, "head_convolution",
        "shifts of " + to_string(builder.shape(shift)) + " and " + to_string(builder.shape(bias)), "one each channel");
  check_state(builder, cache, "head_convolution", in[0].size, (w[2].size - 1) * channels);
  return builder.compute(label, in, head_convolution_operation, {x, weight, shift, bias, cache});
}

TensorId delay(Builder& builder, TensorId x, TensorId cache, Label label) {
  const Shape in = builder.shape(x);
  check(in.rank() == 3, "delay", to_string(in), "tokens of sequences");
  check_state(builder, cache, "delay", in[0].size, in[2].size);
  return builder.compute(label, in, delay_operation, {x, cache});
}

std::pair<TensorId, TensorId> average_heads(Builder& builder, TensorId queries, TensorId keys) {
  const Shape q = builder.shape(queries), k = builder.shape(keys);
  check(q.rank() == 4 && k.rank() == 4 && q[3].size == k[3].size && q[2].size % k[2].size == 0, "average_heads",
        to_string(q) + " and " + to_string(k), "heads of one width, shared evenly");
  const TensorId of_query = builder.activation("query_mean", q), of_key = builder.activation("key_mean", k);
  builder.emit(average_heads_operation, {queries, keys}, {of_query, of_key});
  return {of_query, of_key};
}

TensorId scale_heads(Builder& builder, TensorId x, TensorId factors, Label label) {
  const Shape shape = builder.shape(x);
  check(shape.rank() == 4 && builder.shape(factors).elements() == shape[2].size, "scale_heads",
        to_string(shape) + " and " + to_string(builder.shape(factors)), "a factor for each head");
  return builder.compute(label, shape, scale_heads_operation, {x, factors});
}

}  // namespace reckon
