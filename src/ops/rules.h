// What the rules of operations are written with: the sentence of a shape error, the usual costs, and the gradients of
// an op's outputs and inputs.
#pragma once

#include "program/builder.h"

#include <string>
#include <utility>
#include <vector>

namespace reckon {

// A shape rule: throws "[operation] got …, expected …".
void check(bool good, const char* operation, const std::string& found, const std::string& expected);

// The cost of an op that reads each element of its inputs and writes each of its outputs once: FLOPs as given, and all
// their bytes. (Costs with bytes of their own are written out.)
Cost streaming_cost(const Program& program, const Op& op, Formula elementwise = {}, Formula matmul = {});
// …without arithmetic.
Cost copy_cost(const Program& program, const Op& op);
// …with so many operations for each element of the first output, or of an input.
template <std::int64_t operations>
Cost output_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, program[op.outputs[0]].shape.product(operations));
}
template <std::size_t input, std::int64_t operations>
Cost input_cost(const Program& program, const Op& op) {
  return streaming_cost(program, op, program[op.inputs[input]].shape.product(operations));
}
// …where rows of the first input are summed into fewer: one addition less than there are summands.
Cost sum_cost(const Program& program, const Op& op);
// Nothing runs: another view of memory.
Cost view_cost(const Program& program, const Op& op);

// A recurrence's state lies in a cache (B × 1 × 1 × elements of a sequence) that an op changes in place, or there is
// none (no_tensor). The shape rule of one, and what writing it again adds to an op's cost.
void check_state(const Builder& builder, TensorId cache, const char* operation, std::int64_t batch,
                 std::int64_t elements);
void add_state(const Program& program, const Op& op, std::size_t input, Cost& cost);

// `per_element` for each element of x, and `per_row` for each of its rows.
Formula elements_and_rows(const Shape& x, std::int64_t per_element, std::int64_t per_row);

// What a gradient rule is given: the gradients of its op's outputs, and where to add those of the inputs.
class Gradient {
 public:
  // `wanted[id]` says whether a gradient of that tensor is asked for.
  Gradient(Builder& builder, std::vector<bool> wanted);

  Builder& builder() { return builder_; }
  bool wanted(TensorId id) const { return id != no_tensor && wanted_[static_cast<std::size_t>(id)]; }
  // The gradient of the loss with respect to `id`, or no_tensor where nothing depends on it.
  TensorId of(TensorId id) const { return gradients_[static_cast<std::size_t>(id)]; }
  // Sets it, overriding what was there (to seed it, or to carry it out of a repeat).
  void set(TensorId id, TensorId gradient) { gradients_[static_cast<std::size_t>(id)] = gradient; }
  // Adds a contribution, where it is wanted: the first stands for itself, a further one is summed with what is there.
  void add(TensorId id, TensorId contribution);
  // A new tensor to hold a contribution to the gradient of `id`; the second only where it is wanted, else no_tensor.
  TensorId make(TensorId id);
  TensorId make_wanted(TensorId id) { return wanted(id) ? make(id) : no_tensor; }

  // Emits an op whose one output is a contribution to the gradient of `id`, where it is wanted.
  template <class A>
  void contribute(TensorId id, const OperationOf<A>& operation, TensorIds inputs,
                  const std::type_identity_t<A>& attributes) {
    if (!wanted(id)) return;
    const TensorId contribution = make(id);
    builder_.emit(operation, std::move(inputs), {contribution}, attributes);
    add(id, contribution);
  }
  void contribute(TensorId id, const OperationOf<>& operation, TensorIds inputs) {
    contribute(id, operation, std::move(inputs), NoAttributes{});
  }

 private:
  Builder& builder_;
  std::vector<bool> wanted_;
  std::vector<TensorId> gradients_;
};

}  // namespace reckon
