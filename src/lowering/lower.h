// What a target runs in place of a program as it is written. All of it works on repeats.
#pragma once

#include "lowering/target.h"
#include "program/program.h"

namespace reckon {

// Products with their epilogues fused, attention in one pass over the keys, views without work, rotations in place, as
// far as the target has them: what is fused or written in place is so in every iteration.
Program lower(const Program& program, const Target& target);

// Sequences with a position of their own, and a cache in pages, so that texts of different lengths run together. Of a
// prefill or decode program: adds `starts`, the position of each sequence's first new token, as an input of every
// op that asks for positions, and a table of pages for each kind of cache, and lays caches out by it: page by page,
// within a page head by head, so that the keys of one head follow each other. A page holds `target.page_tokens` tokens
// of every layer. What is windowed lies in one page, a ring, which the table names again and again. The state of a
// recurrence lies in one page too, and has two: a step reads the first and writes the second.
Program page_caches(Program program, const Target& target);

// Takes a lowered training program and returns one in which dropout keeps a mask, a byte for each element, for the
// backward pass, which then does not draw again.
Program keep_masks(Program program);

// Takes a lowered training program whose activations are float32 and returns one that keeps, from the forward to the
// backward pass, those that both touch in `dtype`: a `narrow` behind the last forward op that writes one, a `widen`
// before the first backward op that reads it. What only one pass touches, and what the loss is made of, stays float32.
Program keep_narrow(Program program, DType dtype);

// A `dequantise` before every product of many rows with a matrix of nf4: a copy in the type of activations, which lives
// as long as that product runs.
Program dequantise(Program program, const Target& target);

// A `quantise` before products whose weights are in GGUF's blocks, on targets that multiply them as integers.
Program quantise_activations(Program program, const Target& target);

}  // namespace reckon
