// What an operation's gradient rule is given: the gradients of its outputs, and where to add those of its inputs.
#pragma once

#include "program/builder.h"

#include <vector>

namespace reckon {

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
  // Adds a contribution: the first stands for itself, a further one is summed with what is there.
  void add(TensorId id, TensorId contribution);
  // A new tensor to hold a contribution to the gradient of `id`.
  TensorId make(TensorId id);

 private:
  Builder& builder_;
  std::vector<bool> wanted_;
  std::vector<TensorId> gradients_;
};

}  // namespace reckon
