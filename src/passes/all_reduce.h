// The gradients of a lowered training program are summed over all ranks that train on other tokens: the data and the
// context ranks of its layout, which for training in several processes are these.
#pragma once

#include "program/program.h"

namespace reckon {

// Gradients are put into buckets of about `bucket` bytes in the order in which the backward pass finishes them. The sum
// of a bucket begins behind the last op that writes to it, and is awaited before the optimizer. An iteration of a
// repeated body fills buckets of its own, and so do gradients that other ranks hold: those of experts.
Program sum_over_ranks(Program program, std::int64_t bucket = std::int64_t{4} << 20);

}  // namespace reckon
