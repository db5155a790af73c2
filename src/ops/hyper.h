// Hyper-connections: n residual streams side by side (… × n·d), mixed by weights that are made of them (Zhu et al.,
// arXiv 2409.19606; with Sinkhorn's iterations, Xie et al., arXiv 2512.24880).
//   open_streams   x (… × d) → n of it (… × n·d)
//   hyper_weights  logits (… × n·(n+2)), base as wide, three scales → how much of each stream a sublayer reads, σ + ε;
//   how
//                  much of what it makes each gets, 2·σ; and a matrix (n × n): the softmax of its rows + ε, whose
//                  columns and rows are divided by their sums in turn. Of logits (… × n) and one scale: the first
//                  alone.
//   collapse       Σᵢ wᵢ·xᵢ (… × d), by the first n weights
//   connect        yᵢ = wᵢ·made + Σⱼ mⱼᵢ·xⱼ, by the others
// None is trained yet.
#pragma once

#include "program/builder.h"

namespace reckon {

struct HyperAttributes {
  std::int64_t streams;
  std::int64_t iterations;
  double epsilon;
  bool operator==(const HyperAttributes&) const = default;
};

extern const OperationOf<> open_streams_operation, collapse_operation, connect_operation;
extern const OperationOf<HyperAttributes> hyper_weights_operation;

TensorId open_streams(Builder& builder, TensorId x, std::int64_t streams, Label label);
TensorId hyper_weights(Builder& builder, TensorId logits, TensorId base, TensorId scales,
                       const HyperAttributes& attributes, Label label);
TensorId collapse(Builder& builder, TensorId streams, TensorId weights, Dim d, Label label);
TensorId connect(Builder& builder, TensorId streams, TensorId weights, TensorId made, Label label);

}  // namespace reckon
