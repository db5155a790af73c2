// Operations on each element by itself.
//   add             a + b: residuals, positions, gradients that meet
//   sum_rows        the sum over leading dimensions: the gradient of what was repeated over them (a bias, positions)
//   scale           factor · x: embedding, residual and logit multipliers
//   softcap         c·tanh(x / c) of logits (Gemma 2)
//   clip            x clamped to ±limit (OLMo), or to at most limit
//   dropout         0 with probability p, else x / (1 − p) (Srivastava et al. 2014). Which ones depends on the run's
//                   seed, the step, the op (its layer and stream) and the element alone, so that the backward pass
//                   draws the same
//   narrow, widen   lowered: x in float32 to the narrow type that it is saved in (x itself is rounded too, so that all
//                   readers see one value), and back to float32
#pragma once

#include "program/builder.h"

namespace reckon {

struct ScaleAttributes {
  double factor;
  bool operator==(const ScaleAttributes&) const = default;
};
struct SoftcapAttributes {
  double cap;
  bool operator==(const SoftcapAttributes&) const = default;
};
struct ClipAttributes {
  double limit;
  bool above = false;  // from above alone
  bool operator==(const ClipAttributes&) const = default;
};
struct DropoutAttributes {
  double probability;
  std::int64_t stream;  // tells the dropouts of one layer apart
  bool operator==(const DropoutAttributes&) const = default;
};

extern const OperationOf<> add_operation, sum_rows_operation, narrow_operation, widen_operation;
extern const OperationOf<ScaleAttributes> scale_operation;
extern const OperationOf<SoftcapAttributes> softcap_operation, softcap_backward_operation;
extern const OperationOf<ClipAttributes> clip_operation, clip_backward_operation;
extern const OperationOf<DropoutAttributes> dropout_operation;

// b may lack leading dimensions of a, over which it is then repeated.
TensorId add(Builder& builder, TensorId a, TensorId b, Label label);
TensorId scale(Builder& builder, TensorId x, double factor, Label label);
TensorId softcap(Builder& builder, TensorId x, double cap, Label label);
TensorId clip(Builder& builder, TensorId x, double limit, Label label, bool above = false);
TensorId dropout(Builder& builder, TensorId x, double probability, std::int64_t stream, Label label);

}  // namespace reckon
