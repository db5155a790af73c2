#include "ops/update.h"

#include "ops/adamw.h"
#include "ops/optimizers.h"
#include "ops/rules.h"

#include <algorithm>
#include <array>

namespace reckon {
namespace {

bool narrower(DType a, DType b) {
  const Encoding &x = encoding_of(a), &y = encoding_of(b);
  return x.bytes * y.elements < y.bytes * x.elements;
}

}  // namespace

bool is_update(const Operation& operation) {
  static const std::array<const Operation*, 5> all = {&adamw_operation, &sgd_operation, &adafactor_operation,
                                                      &muon_operation, &adam8bit_operation};
  return std::find(all.begin(), all.end(), &operation) != all.end();
}

TensorId moment(Builder& builder, TensorId parameter, Piece piece, DType dtype) {
  return builder.like(parameter, TensorKind::optimizer_state, piece, dtype);
}

TensorId moment(Builder& builder, TensorId parameter, Piece piece, DType dtype, const Shape& shape) {
  const TensorId made = moment(builder, parameter, piece, dtype);
  builder.program().tensors[static_cast<std::size_t>(made)].shape = shape;
  return made;
}

void add_master(Builder& builder, TensorIds& inputs, TensorIds& outputs) {
  const TensorId parameter = inputs[update_input::parameter];
  const DType wide = builder.program().workload.precision.master;
  if (!narrower(builder[parameter].dtype, wide)) return;
  const TensorId master = moment(builder, parameter, Piece::master, wide);
  inputs.push_back(master);
  outputs.push_back(master);
}

Cost update_cost(const Program& program, const Op& op, Formula elementwise, Formula matmul) {
  Cost cost = streaming_cost(program, op, std::move(elementwise), std::move(matmul));
  if (program[op.inputs.back()].label.piece == Piece::master) {
    const Count copy = bytes(program[op.inputs[update_input::parameter]]);
    cost.read -= copy;
    cost.weights -= copy;
  }
  return cost;
}

}  // namespace reckon
