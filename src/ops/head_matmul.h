// A product per head with a slice of a weight: latent attention decodes with its up-projections folded into the
// queries and the output, so that the cached latents are never expanded (DeepSeek-V2, arXiv 2405.04434, section 2.1.2).
#pragma once

#include "program/builder.h"

namespace reckon {

struct HeadMatmulAttributes {
  std::int64_t first;  // row of each head's
  bool into_latent;
  bool operator==(const HeadMatmulAttributes&) const = default;
};

extern const OperationOf<HeadMatmulAttributes> head_matmul_operation;

// x (B × T × H × m), weight (H·R × r): of each head's R rows, those from `first` on are multiplied with.
// Into the latent: x·W (m rows are used) → (B × T × H × r). Out of it: x·Wᵀ (m = r) → (B × T × H × rows).
TensorId head_matmul(Builder& builder, TensorId x, TensorId weight, std::int64_t first, Dim rows, bool into_latent,
                     Label label);

}  // namespace reckon
