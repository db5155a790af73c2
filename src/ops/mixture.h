// Mixtures of experts without dropping: every token goes to its k best experts, so k·tokens rows are dispatched.
//   route           logits (… × E), correction (E) or no_tensor → choice (… × k), weights (… × k)
//   dispatch        x (… × d) → rows (… × k × d) sorted by expert, order (… × k: where each came from),
//                   offsets (E + 1: where each expert's rows begin)
//   grouped_matmul  rows (… × k × K) · their expert's weight of (E × N × K), + bias (E × N) → (… × k × N)
//   combine         rows (… × k × d), weights (… × k) or no_tensor → Σ over k of weight · row (… × d)
//   pass_identity   rows that experts made, and those they read → the first, but of identity experts what they read,
//                   or 0 where there is nothing that they read (no_tensor)
//   weigh           rows (… × k × d), weights (… × k) → weight · row: for experts that are weighted by what they read
// Ties go to the lower expert.
#pragma once

#include <reckon/model.h>

#include "program/builder.h"

#include <utility>

namespace reckon {

struct RouteAttributes {
  Mixture::Scores scores;
  bool normalize;
  bool closed_as_zero = false;
  double scale;
  std::int64_t groups, active_groups, group_top;
  double jitter = 0.0;      // of a sparsemixer
  std::int64_t always = 0;  // of the experts, the last, which are chosen in any case
  bool operator==(const RouteAttributes&) const = default;
};

struct GroupedMatmulAttributes {
  bool transpose_b;
  bool operator==(const GroupedMatmulAttributes&) const = default;
};

// A sparsemixer takes a score for one to choose from unless it is below the best by more than this share of the larger.
template <class Number>
bool near_best(Number score, Number best, Number share) {
  const Number size = score < 0 ? -score : score;
  return !((best - score) / (size > best ? size : best) > share);
}

extern const OperationOf<RouteAttributes> route_operation, route_backward_operation;
extern const OperationOf<> dispatch_operation, dispatch_backward_operation, grouped_weight_gradient_operation,
    grouped_bias_gradient_operation, combine_operation, combine_backward_operation, weigh_operation,
    weigh_backward_operation;
extern const OperationOf<GroupedMatmulAttributes> grouped_matmul_operation;
struct PassIdentityAttributes {
  std::int64_t experts;  // that are none of identity, and stand first
  bool operator==(const PassIdentityAttributes&) const = default;
};
extern const OperationOf<PassIdentityAttributes> pass_identity_operation, pass_identity_backward_operation;

// `table` (vocabulary × k) has the experts of the tokens `ids`, where they are no choice of the router.
std::pair<TensorId, TensorId> route(Builder& builder, const Mixture& mixture, TensorId logits, TensorId correction,
                                    TensorId table = no_tensor, TensorId ids = no_tensor);
struct Dispatched {
  TensorId rows, order, offsets;
};
Dispatched dispatch(Builder& builder, TensorId x, TensorId choice, Dim experts);
TensorId grouped_linear(Builder& builder, TensorId rows, TensorId weight, TensorId bias, TensorId offsets, Label label);
TensorId pass_identity(Builder& builder, TensorId made, TensorId rows, TensorId offsets, std::int64_t experts,
                       Label label);
TensorId weigh(Builder& builder, TensorId rows, TensorId weights, TensorId order, Label label);
TensorId combine(Builder& builder, TensorId rows, TensorId weights, TensorId order, Label label);

}  // namespace reckon
