// What programs are given: ids and labels from outside, and positions and rotary tables, which are made here.
#pragma once

#include <reckon/model.h>

#include "backend/backend.h"
#include "run/rope_table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reckon {

// Throws UsageError for the first that is no token.
void check_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size);

// A model that attends to an encoder's output would need that as an input, which nothing gives: UsageError.
void check_no_encoder(const Model& model);

// The part of a step that stands at one place of a text.
struct PartInputs {
  std::span<const std::int32_t> ids;
  std::int64_t past = 0;                      // tokens before it
  std::span<const std::int32_t> labels = {};  // in training
};

// Writes every input of a program, one part behind the other, each `tokens` long.
void write_inputs(Backend& backend, const Executable& executable, const Model& model, std::span<const PartInputs> parts,
                  std::int64_t tokens);

// A model may have several rotary tables; they are told apart by their order. -1: `id` is no such table.
std::int64_t rope_table_index(const Program& program, TensorId id);

// A constant of a program: so many rows of a table of positions, or what came with the weights.
std::vector<float> constant_values(const Program& program, TensorId id, const Model& model, std::int64_t rows,
                                   const Parameters& parameters);

// A buffer with these values.
std::shared_ptr<Buffer> buffer_of(Backend& backend, std::span<const float> values);

}  // namespace reckon
