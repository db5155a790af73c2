// Sums of gradients over all processes that train together. A bucket of gradients is begun as soon as it is computed
// and awaited before the optimizer reads it:
//   all_reduce_start   every rank sends each other rank its slice of the bucket
//   all_reduce_wait    each sums its own slice in the order of ranks, and sends the sum to all
#pragma once

#include "program/program.h"

namespace reckon {

struct AllReduceAttributes {
  std::int64_t ranks;
  bool operator==(const AllReduceAttributes&) const = default;
};

extern const OperationOf<AllReduceAttributes> all_reduce_start_operation, all_reduce_wait_operation;

// Bytes: tensors of a bucket follow each other in memory, each at a multiple of this from the first. The padding is
// sent too. The same for every target, so that the cost does not depend on one.
constexpr std::int64_t bucket_alignment = 64;

}  // namespace reckon
