#include "ops/all_reduce.h"

namespace reckon {
namespace {

// What a rank sends of a bucket to the others, all but its own slice: bytes.
Count others_share(const Program& program, const Op& op) {
  const std::int64_t ranks = op.attributes<AllReduceAttributes>().ranks;
  Count bucket;
  for (TensorId id : op.inputs) bucket += padded(static_cast<std::int64_t>(bytes(program[id])));
  return bucket * (ranks - 1) / ranks;
}

// Bytes read are those sent to other ranks, bytes written those received from them.
Cost start_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.read = cost.written = others_share(program, op);
  return cost;
}

// (R − 1)/R of the bucket's elements are received summands; the sums go to R − 1 others, and come from as many.
Cost wait_cost(const Program& program, const Op& op) {
  Cost cost = start_cost(program, op);
  cost.elementwise = Formula(Term(cost.read / row_bytes(program[op.inputs[0]].dtype, 1)));
  return cost;
}

}  // namespace

const OperationOf<AllReduceAttributes> all_reduce_start_operation{{"all_reduce_start", start_cost, nullptr}};
const OperationOf<AllReduceAttributes> all_reduce_wait_operation{{"all_reduce_wait", wait_cost, nullptr}};

}  // namespace reckon
