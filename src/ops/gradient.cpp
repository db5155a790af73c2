// Bookkeeping of gradients while the backward ops are written.
#include "ops/gradient.h"

#include "ops/add.h"

namespace reckon {

Gradient::Gradient(Builder& builder, std::vector<bool> wanted)
    : builder_(builder), wanted_(std::move(wanted)), gradients_(wanted_.size(), no_tensor) {}

void Gradient::add(TensorId id, TensorId contribution) {
  TensorId& gradient = gradients_[static_cast<std::size_t>(id)];
  if (gradient == no_tensor) {
    gradient = contribution;
    return;
  }
  const TensorId sum = make(id);
  builder_.emit(add_operation, {gradient, contribution}, {sum});
  gradient = sum;
}

TensorId Gradient::make(TensorId id) {
  return builder_.like(id, TensorKind::gradient, builder_[id].label, builder_.program().workload.precision.gradients);
}

}  // namespace reckon
