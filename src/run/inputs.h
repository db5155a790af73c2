// What a program is given besides ids and labels, filled from where its tokens stand.
#pragma once

#include <reckon/model.h>

#include "program/program.h"
#include "run/rope_table.h"

#include <cstddef>
#include <cstdint>

namespace reckon {

// A model that attends to an encoder's output would need that as an input, which nothing gives: UsageError.
void check_no_encoder(const Model& model);

// `tensor` is an input for `tokens` tokens after `past`: positions or sinusoids are written to `memory`; others are
// left.
void fill_positions(const Model& model, const Tensor& tensor, std::int64_t past, std::int64_t tokens,
                    std::byte* memory);

// A model may have several rotary tables; they are told apart by their order. -1: `id` is no such table.
std::int64_t rope_table_index(const Program& program, TensorId id);

}  // namespace reckon
