// Appends tensors and ops to a program, each under the current scope, stage and repeat.
#include "program/builder.h"

#include <reckon/error.h>

#include <algorithm>
#include <string>

namespace reckon {

TensorId Builder::push(Tensor tensor) {
  tensor.repeat = repeat_;
  program_.tensors.push_back(tensor);
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

void Builder::refuse_unknown(TensorId id) const {
  throw Error("tensor " + std::to_string(id) + " is read, but the program has " +
              std::to_string(program_.tensors.size()) + " of them; expected one that was made before");
}

TensorId Builder::parameter(Role role, Piece piece, const Shape& shape) {
  const Workload& workload = program_.workload;
  DType dtype = workload.precision.weights;
  if (workload.parameter_types) {
    const TensorKey key{{role, scope_.layer, scope_.nth}, piece};
    if (const auto found = workload.parameter_types->find(key); found != workload.parameter_types->end())
      dtype = found->second;
  }
  return weight(TensorKind::parameter, role, piece, shape, dtype);
}

TensorId Builder::weight(TensorKind kind, Role role, Piece piece, const Shape& shape, DType dtype) {
  const Scope scope{role, scope_.layer, scope_.nth};
  const bool own = piece == Piece::adapter_a || piece == Piece::adapter_b;
  if (owner_ < 0 || own) return push({scope, piece, kind, dtype, shape});
  const TensorKey key{{role, owner_, scope_.nth}, piece};
  // Layers are written in order: what belongs to one stands together.
  const std::vector<Tensor>& all = program_.tensors;
  auto at = std::partition_point(all.begin(), all.end(), [&](const Tensor& t) { return t.scope.layer < owner_; });
  while (at != all.end() && at->scope.layer == owner_ && !(at->kind == kind && key_of(*at) == key)) ++at;
  if (at == all.end() || at->scope.layer != owner_ || !at->shape.same_sizes(shape)) {
    const bool other = at != all.end() && at->scope.layer == owner_;
    throw Error(full_name(TensorKey{scope, piece}) + " (" + to_string(shape) + ") is to be " + full_name(key) +
                (other ? ", which is " + to_string(at->shape) : ", which there is not") +
                "; expected a layer like the one whose weights it has");
  }
  return static_cast<TensorId>(at - all.begin());
}

void Builder::set_sublayer(std::int32_t layer, std::int32_t nth, std::int32_t owner) {
  scope_.layer = layer;
  scope_.nth = nth;
  owner_ = owner == layer ? -1 : owner;
}

TensorId Builder::tensor(TensorKind kind, Label label, const Shape& shape, DType dtype) {
  return push({scope_, label, kind, dtype, shape});
}

TensorId Builder::activation(Label label, const Shape& shape) {
  return tensor(TensorKind::activation, label, shape, program_.workload.precision.activations);
}

TensorId Builder::alias(TensorId of, Label label, const Shape& shape, std::int64_t offset, const Strides& strides) {
  const Tensor& source = (*this)[of];
  return push({scope_, label, source.kind, source.dtype, shape, -1, of, offset, strides});
}

TensorId Builder::like(TensorId other, TensorKind kind, Label label, DType dtype) {
  const Tensor& source = (*this)[other];
  return push({source.scope, label, kind, dtype, source.shape});
}

std::int32_t Builder::begin_repeat(std::int64_t count, std::int32_t layers, std::int32_t root, bool reversed) {
  if (repeat_ >= 0) throw Error("a repeat inside a repeat");
  repeat_ = static_cast<std::int32_t>(program_.repeats.size());
  Repeat repeat;
  repeat.first_op = static_cast<std::int32_t>(program_.ops.size());
  repeat.count = count;
  repeat.layers = layers;
  repeat.root = root < 0 ? repeat_ : root;
  repeat.reversed = reversed;
  program_.repeats.push_back(repeat);
  return repeat_;
}

void Builder::end_repeat(std::vector<std::pair<TensorId, TensorId>> carried) {
  Repeat& repeat = program_.repeats[static_cast<std::size_t>(repeat_)];
  repeat.last_op = static_cast<std::int32_t>(program_.ops.size());
  repeat.carried = std::move(carried);
  repeat_ = -1;
}

}  // namespace reckon
