// Writes a program op by op. Operations are emitted through the functions of ops/.
#pragma once

#include "program/program.h"

#include <utility>
#include <vector>

namespace reckon {

class Builder {
 public:
  explicit Builder(Program program) : program_(std::move(program)) {
    constexpr std::size_t usual = 128;  // what a pass adds to a folded program, so that it grows once
    program_.tensors.reserve(program_.tensors.size() + usual);
    program_.ops.reserve(program_.ops.size() + usual);
  }

  Program& program() { return program_; }
  const Program& program() const { return program_; }
  // A tensor that was never made is an error, not one of another's memory.
  const Tensor& operator[](TensorId id) const {
    if (static_cast<std::size_t>(id) >= program_.tensors.size()) refuse_unknown(id);
    return program_[id];
  }
  Shape shape(TensorId id) const { return (*this)[id].shape; }

  TensorId parameter(Role role, Piece piece, const Shape& shape);
  // A parameter, or a constant that is stored with them. Where the layer has another's weights, it is that one's, and
  // nothing is added; but adapters of the network are always the layer's own.
  TensorId weight(TensorKind kind, Role role, Piece piece, const Shape& shape, DType dtype);
  TensorId tensor(TensorKind kind, Label label, const Shape& shape, DType dtype);
  TensorId activation(Label label, const Shape& shape);
  // Another shape of the memory of `of`, from `offset` on; `strides` all 0: row-major without gaps.
  TensorId alias(TensorId of, Label label, const Shape& shape, std::int64_t offset = 0, const Strides& strides = {});
  // A tensor like `other`, of another kind (its gradient, its optimizer state), under other's scope.
  TensorId like(TensorId other, TensorKind kind, Label label, DType dtype);

  // Appends an op; its outputs must have been made before.
  template <class A>
  void emit(const OperationOf<A>& operation, TensorIds inputs, TensorIds outputs,
            const std::type_identity_t<A>& attributes) {
    program_.ops.emplace_back(operation, std::move(inputs), std::move(outputs), attributes, scope_, stage_, repeat_);
  }
  void emit(const OperationOf<>& operation, TensorIds inputs, TensorIds outputs) {
    emit(operation, std::move(inputs), std::move(outputs), NoAttributes{});
  }
  // Appends an op with one output, a new activation of this shape.
  template <class A>
  TensorId compute(Label label, const Shape& shape, const OperationOf<A>& operation, TensorIds inputs,
                   const std::type_identity_t<A>& attributes) {
    const TensorId output = activation(label, shape);
    emit(operation, std::move(inputs), {output}, attributes);
    return output;
  }
  TensorId compute(Label label, const Shape& shape, const OperationOf<>& operation, TensorIds inputs) {
    return compute(label, shape, operation, std::move(inputs), NoAttributes{});
  }

  // Where what follows belongs.
  void set_role(Role role) { scope_.role = role; }
  // The nth sublayer of its block in a layer whose weights are those of the layer `owner` (-1: its own).
  void set_sublayer(std::int32_t layer, std::int32_t nth, std::int32_t owner = -1);
  void set_scope(Scope scope) { scope_ = scope; }
  void set_stage(Stage stage) { stage_ = stage; }

  // Between the two, ops and tensors belong to a body that stands for `count` alike ones.
  std::int32_t begin_repeat(std::int64_t count, std::int32_t layers, std::int32_t root = -1, bool reversed = false);
  void end_repeat(std::vector<std::pair<TensorId, TensorId>> carried);

  Program finish() { return std::move(program_); }

 private:
  TensorId push(Tensor tensor);
  [[noreturn]] void refuse_unknown(TensorId id) const;
  Program program_;
  Scope scope_;
  std::int32_t owner_ = -1;
  Stage stage_ = Stage::forward;
  std::int32_t repeat_ = -1;
};

}  // namespace reckon
