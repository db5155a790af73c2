#include "ops/entries.h"

#include "ops/rules.h"

#include <algorithm>

namespace reckon {
namespace {

// An element of an entry of s tokens: + bias s, a softmax 5·s − 2, products s and their sum s − 1. Its norm 4 an
// element and 2, its rotation 3 a rotated element. The first entry of a text has none before it.
Cost cost(const Program& program, const Op& op) {
  using namespace entries_input;
  const auto& a = op.attributes<EntriesAttributes>();
  const Shape& in = program[op.inputs[kv]].shape;
  const std::int64_t past = std::max<std::int64_t>(0, program.workload.past);
  const std::int64_t made = entries_of(past + in[1].size, a.rate) - entries_of(past, a.rate);
  std::int64_t tokens = made * (a.overlaps ? 2 : 1) * a.rate;
  if (a.overlaps && made > 0 && entries_of(past, a.rate) == 0) tokens -= a.rate;
  const Dim batch = in[0], width = program[op.inputs[norm]].shape[-1];
  const Tensor& angles = program[op.inputs[table]];
  Cost cost;
  cost.elementwise = Formula(Term(8 * tokens + made).times(batch).times(width));
  cost.elementwise += Term(2 * made).times(batch);
  cost.elementwise += Term(3 * made).times(batch).times(angles.shape[-1]);
  for (const std::size_t i : {kv, gate, bias, norm}) cost.read += bytes(program[op.inputs[i]]);
  cost.weights = bytes(program[op.inputs[bias]]) + bytes(program[op.inputs[norm]]);
  cost.read += whole_blocks(angles.dtype, Term(made).times(batch).times(angles.shape[-1]).value());
  const Tensor& out = program[op.outputs[0]];
  cost.written = whole_blocks(out.dtype, Term(made).times(batch).times(width).value());
  if (op.inputs[state] != no_tensor) {
    const Tensor& held = program[op.inputs[state]];
    const Count each = bytes(held) / held.shape[1].size;
    cost.read += each;
    cost.written += each;
  }
  return cost;
}

}  // namespace

const OperationOf<EntriesAttributes> entries_operation{{"entries", cost, nullptr}};

TensorId entries(Builder& builder, const EntriesInputs& inputs, const EntriesAttributes& attributes, Label label) {
  const Shape in = builder.shape(inputs.kv), width = builder.shape(inputs.norm);
  const std::int64_t each = (attributes.overlaps ? 2 : 1) * width[0].size;
  check(in.rank() == 3 && in.same_sizes(builder.shape(inputs.gate)) && in[2].size == each &&
            builder.shape(inputs.bias).elements() == attributes.rate * each,
        "entries", to_string(in) + " and " + to_string(builder.shape(inputs.bias)),
        "gates and biases for each element");
  check_state(builder, inputs.state, "entries", in[0].size, attributes.before() * 2 * each);
  const TensorIds all{inputs.kv, inputs.gate, inputs.bias, inputs.norm, inputs.table, inputs.state, inputs.cache};
  if (inputs.cache == no_tensor) {
    const Dim count(entries_of(in[1].size, attributes.rate));
    return builder.compute(label, {in[0], count, 1, width[0]}, entries_operation, all, attributes);
  }
  const Tensor& cache = builder[inputs.cache];
  const TensorId y = builder.alias(inputs.cache, label, cache.shape, 0, strides_of(cache));
  builder.emit(entries_operation, all, {y}, attributes);
  return y;
}

}  // namespace reckon
