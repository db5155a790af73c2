// What ranks do together. A collective is an op of the program of one rank; S is the size of its whole, n the ranks:
//   all_reduce      the sum over all ranks, on each of them                    sends 2·S·(n − 1)/n (a ring)
//   all_gather      the parts of all ranks along one extent, on each of them   sends S·(n − 1)/n of the result's S
//   reduce_scatter  of the sum over all ranks, each one's own part             sends S·(n − 1)/n of what is summed
//   all_to_all      each rank's rows to the ranks that they are for            sends S·(n − 1)/n where all get as many
//   send, receive   the residual stream from one stage of a pipeline to the next, with what chained routers made, and
//                   its gradient back
//   copy_to_group   x itself, where each rank goes on with a part of the work: its gradient is an all_reduce
//   own_part        of what all ranks have, this one's part
//   keep_alike      marks a parameter that all ranks of a group have, and of whose gradient each computes a part: these
//                   are summed once a step
// The gradient of each is its conjugate (Korthikanti et al. 2022, figures 4 to 6). They are counted, planned and timed;
// what runs in several processes are sums of gradients alone, begun as soon as a bucket of them is computed and awaited
// before the optimizer reads it:
//   all_reduce_start   every rank sends each other rank its slice of the bucket
//   all_reduce_wait    each sums its own slice in the order of ranks, and sends the sum to all
#pragma once

#include "program/builder.h"

namespace reckon {

struct CollectiveAttributes {
  Group group;
  std::int64_t ranks;
  std::int32_t extent = 0;  // the one that is put together or taken apart
  // all_gather: what follows is the same on every rank, so that its gradient is too; else each has a part of the sum.
  bool alike = false;
  bool operator==(const CollectiveAttributes&) const = default;
};

extern const OperationOf<CollectiveAttributes> all_reduce_operation, all_gather_operation, reduce_scatter_operation,
    all_to_all_operation, send_operation, receive_operation, copy_to_group_operation, own_part_operation,
    keep_alike_operation;

struct AllReduceAttributes {
  std::int64_t ranks;
  bool operator==(const AllReduceAttributes&) const = default;
};

extern const OperationOf<AllReduceAttributes> all_reduce_start_operation, all_reduce_wait_operation;

// Bytes: tensors of a bucket follow each other in memory, each at a multiple of this from the first. The padding is
// sent too. The same for every target, so that the cost does not depend on one.
constexpr std::int64_t bucket_alignment = 64;

// Whether an op runs once in a step of training, not for each micro-batch.
bool once_a_step(const Op& op);
// Whether an op changes nothing in memory: another name of its input, or a mark.
bool is_name(const Op& op);

// To the next stage of a pipeline: x → a token, which stands for its having been sent.
TensorId send(Builder& builder, TensorId x, std::int64_t stages);
// From the stage before it. `token` is that of what this rank sent last, or no_tensor: an interleaved pipeline comes
// back to its ranks.
TensorId receive(Builder& builder, TensorId token, const Shape& shape, std::int64_t stages);

}  // namespace reckon
