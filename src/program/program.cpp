// Shapes, names and sizes of a program's tensors.
#include "program/program.h"

#include <reckon/error.h>

#include "files/checked.h"

#include <algorithm>

namespace reckon {

Shape::Shape(std::initializer_list<Dim> dims) {
  for (const Dim& dim : dims) push(dim);
}

Shape& Shape::push(Dim dim) {
  if (rank_ == capacity) throw Error("a tensor of more than five dimensions");
  dims_[rank_++] = dim;
  return *this;
}

Shape Shape::leading() const {
  Shape out;
  for (int i = 0; i + 1 < rank_; ++i) out.push(dims_[i]);
  return out;
}

Term Shape::product(Count coefficient) const {
  Term out(coefficient);
  for (int i = 0; i < rank_; ++i) out.times(dims_[i]);
  return out;
}

bool Shape::same_sizes(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end(), [](Dim a, Dim b) { return a.size == b.size; });
}

std::string to_string(const Shape& shape) {
  std::string out;
  for (const Dim& dim : shape) {
    if (!out.empty()) out += " × ";
    out += std::to_string(dim.size);
  }
  return out.empty() ? "scalar" : out;
}

std::string full_name(const Tensor& tensor) {
  std::string out = full_name(tensor.scope) + "." + std::string(tensor.label.name);
  if (tensor.kind == TensorKind::gradient) out += ".gradient";
  return out;
}

Strides strides_of(const Tensor& tensor) {
  if (tensor.strides != Strides{}) return tensor.strides;
  Strides strides{};
  std::int64_t step = 1;
  for (int i = tensor.shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = step;
    if (i > 0) step = checked_multiply(step, tensor.shape[i].size, "the stride of a tensor");
  }
  return strides;
}

Count bytes(const Tensor& tensor) { return whole_blocks(tensor.dtype, tensor.shape.product().value()); }

void Op::other_attributes() const {
  throw Error("[" + std::string(operation->name) + "] was asked for the attributes of another operation");
}

Dim Program::count_dim(std::int32_t repeat) const {
  if (repeat < 0) return {};
  const Repeat& r = repeats[static_cast<std::size_t>(repeat)];
  return {r.count, r.count == layers ? Symbol::layers : Symbol::none};
}

DType precision_of(const Program& program, const Op& op) {
  const Tensor* widest = nullptr;
  const auto wider = [](DType a, DType b) {
    return encoding_of(a).bytes * encoding_of(b).elements > encoding_of(b).bytes * encoding_of(a).elements;
  };
  for (TensorId id : op.inputs) {
    if (id == no_tensor || program[id].dtype == DType::int32) continue;
    if (widest == nullptr || wider(program[id].dtype, widest->dtype)) widest = &program[id];
  }
  return widest == nullptr ? DType::float32 : widest->dtype;
}

void find_bodies(Program& program) {
  for (Repeat& repeat : program.repeats) repeat.first_op = repeat.last_op = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].repeat < 0) continue;
    Repeat& repeat = program.repeats[static_cast<std::size_t>(program.ops[i].repeat)];
    if (repeat.last_op == 0) repeat.first_op = static_cast<std::int32_t>(i);
    repeat.last_op = static_cast<std::int32_t>(i) + 1;
  }
}

}  // namespace reckon
