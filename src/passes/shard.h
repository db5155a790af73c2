// From the program of a whole model to that of one of the ranks which it is laid out over.
#pragma once

#include "program/program.h"

namespace reckon {

// Rewrites a forward program, of the stage that network/ wrote, for one rank of its workload's layout: extents that the
// ranks share out are divided, and what they must exchange is written between the ops. Being forward, it is
// differentiated as any other program: the collectives of the backward pass come from the rules of those here.
//   tensor    by roles: query, key, value, gate and up by columns, output and down by rows, tables by the vocabulary
//   sequence  between these, the tokens
//   context   the tokens everywhere; attention gathers keys and values (as Llama 3 does)
//   expert    experts; rows are sent to theirs and back
//   zero 3    parameters, gathered layer by layer
// Assumed, as no program can know it: that tokens choose experts evenly, and that context ranks have the tokens of a
// sequence in pieces from both ends, so that causality leaves each as much to do.
Program shard(Program forward);

// An extent, or a parameter, of which each of so many ranks has a part: of a parameter along its first extent that
// divides, else of its elements in a row, rounded up.
Dim part_of(Dim extent, std::int64_t ranks);
Shape part_of(const Shape& parameter, std::int64_t ranks);

// The ranks that hold the same of a parameter or of its gradient, and train on other tokens: data and context ranks; of
// the experts' parameters, those of them that do not hold other experts.
std::int64_t alike_ranks(const Layout& layout, const Tensor& parameter);

}  // namespace reckon
