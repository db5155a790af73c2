#include "ops/all_reduce.h"

namespace reckon {
namespace {

// Of so much in a bucket, what is not a rank's own: (R − 1)/R.
Term others_share(Count bucket, const Op& op) {
  const std::int64_t ranks = op.attributes<AllReduceAttributes>().ranks;
  return Term(bucket * (ranks - 1)).over(ranks);
}

Count bucket_bytes(const Program& program, const Op& op) {
  Count bucket;
  for (TensorId id : op.inputs) bucket += padded(static_cast<std::int64_t>(bytes(program[id])), bucket_alignment);
  return bucket;
}

// Every rank sends the others their slices, and gets theirs of its own. Nothing of it counts as bytes of memory.
Cost start_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.group = Group::data;
  cost.sent = others_share(bucket_bytes(program, op), op).value();
  return cost;
}

// As many elements are received summands; the sums go to the others, and theirs come: 2·(R − 1)/R of the bucket in all.
Cost wait_cost(const Program& program, const Op& op) {
  Cost cost = start_cost(program, op);
  cost.elementwise = others_share(bucket_bytes(program, op) / row_bytes(program[op.inputs[0]].dtype, 1), op);
  return cost;
}

}  // namespace

const OperationOf<AllReduceAttributes> all_reduce_start_operation{{"all_reduce_start", start_cost, nullptr}};
const OperationOf<AllReduceAttributes> all_reduce_wait_operation{{"all_reduce_wait", wait_cost, nullptr}};

}  // namespace reckon
