#include "ops/append.h"

#include "ops/rules.h"

namespace reckon {
namespace {

// Only what is new moves.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  const Tensor& fresh = program[op.inputs[0]];
  cost.read = bytes(fresh);
  cost.written = whole_blocks(program[op.inputs[1]].dtype, fresh.shape.product().value());
  return cost;
}

}  // namespace

// Caches belong to inference, so it is never differentiated.
const OperationOf<> append_operation{{"append", cost, nullptr}};

TensorId append(Builder& builder, TensorId fresh, TensorId cache, Dim keys, Label label) {
  const Shape in = builder.shape(fresh), held = builder.shape(cache);
  check(in.rank() == 4 && held.rank() == 4 && in[2].size == held[2].size && in[3].size == held[3].size &&
            keys.size <= held[1].size,
        "append", to_string(in) + " to " + to_string(held), "a cache with room and heads alike");
  const TensorId y = builder.alias(cache, label, {in[0], keys, in[2], in[3]}, 0, strides_of(builder[cache]));
  builder.emit(append_operation, {fresh, cache}, {y});
  return y;
}

}  // namespace reckon
