// Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) beside the matrices of layers.
#pragma once

#include "network/blocks.h"

namespace reckon {

// Whether the matrix of that role has one. None have routers and the experts that they choose from: their matrices lie
// in one tensor, which peft (0.20) leaves alone too.
bool has_adapter(const Lora& lora, Role role);

// The first layer with an adapter in it; as many as there are where none has.
std::size_t first_adapted(const Lora& lora, const Layers& layers);

struct Adapter {
  TensorId a = no_tensor, b = no_tensor;  // (rank × in), (out × rank); both absent where the role has none
};
// The parameters. A rank that is larger than the matrix (out × in) is a UsageError.
Adapter adapter(Network& network, Role role, Dim out, Dim in);

// y + (x·Aᵀ)·Bᵀ·(alpha / rank), or y itself where there is no adapter
TensorId add_adapter(Network& network, const Adapter& adapter, TensorId x, TensorId y);

// What the adapter adds to y, times alpha / rank
TensorId add_scaled(Network& network, TensorId y, TensorId low_rank);

}  // namespace reckon
