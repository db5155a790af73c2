// Types of parameters one by one, where a network does not keep all of them in one.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <memory>

namespace reckon {

// The matrices that the layers multiply by in one type, all other parameters as the workload's precision says. That is
// how weights are quantised for serving: embeddings, head, norms, routers and biases keep 16 bits (Dettmers et al.
// 2022, arXiv 2208.07339; Frantar et al. 2022, arXiv 2210.17323).
std::shared_ptr<const ParameterTypes> layer_matrices_as(const Model& model, DType type);

// What `reckon quantize` makes of a network: every matrix in this encoding, or the one that fits its rows
// (files/quantise.h), routers, tables of positions and vectors in float32.
std::shared_ptr<const ParameterTypes> quantised_as(const Model& model, DType encoding);

// Every vector (norms, biases) in one type, the matrices as the workload's precision says.
std::shared_ptr<const ParameterTypes> vectors_as(const Model& model, DType type);

}  // namespace reckon
