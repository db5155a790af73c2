// Sum over leading dimensions: the gradient of what was repeated over them (a bias, learned positions).
#pragma once

#include "ops/gradient.h"

namespace reckon {

extern const OperationOf<> sum_rows_operation;

// Sums `dy` down to the shape of `parameter`, as a contribution to its gradient.
TensorId sum_rows(Gradient& gradient, TensorId dy, TensorId parameter);

}  // namespace reckon
