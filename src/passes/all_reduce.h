// Training in several processes: the gradients of a lowered training program are summed over all ranks.
#pragma once

#include "program/program.h"

namespace reckon {

// Gradients are put into buckets of about `bucket` bytes in the order in which the backward pass finishes them. The sum
// of a bucket begins behind the last op that writes to it, and is awaited before the optimizer. An iteration of a
// repeated body fills buckets of its own.
Program sum_over_ranks(Program program, std::int64_t ranks, std::int64_t bucket = std::int64_t{4} << 20);

}  // namespace reckon
