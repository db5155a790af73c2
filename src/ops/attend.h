// Lowered attention: scores, softmax and mixing in one pass over the keys, block of queries by block, so that no
// T × S matrix is ever held (Dao et al., arXiv 2205.14135). Keys that no query of a block may see are skipped.
#pragma once

#include "ops/attention.h"

namespace reckon {

struct AttendAttributes {
  AttentionRule rule;
  std::int32_t query_block;  // tokens in a block of queries, by the target: what is computed depends on shapes alone
  float dropout = 0;         // of the weights: drawn where they are made, and again in the backward pass
  bool operator==(const AttendAttributes&) const = default;
};

// Inputs: query (B × T × H × m), keys (B × S × K × m), values (B × S × K × n), sinks (H) or no_tensor, starts (B) or
// no_tensor: at which position each sequence's queries begin; and where there is one, what softmax adds to scores.
// Training also saves the logarithm of each row's sum of exponentials (B × H × T); from it the backward pass computes
// the weights of a block again.
extern const OperationOf<AttendAttributes> attend_operation, attend_backward_operation;

// Inputs and outputs, in this order; the last of each is there where keys have shifts. Sinks may be no_tensor, and so
// may a gradient that is not asked for (of what only frozen weights make: counted, never run). All products are made
// all the same.
namespace attend_backward_input {
enum : std::size_t { query, keys, values, sinks, out, d_out, log_sum_exp, shifts, count };
}
namespace attend_backward_output {
enum : std::size_t { d_query, d_keys, d_values, d_sinks, d_shifts, count };
}

// The (query, key) pairs that are computed for each head: each block sees the keys from the first that its first
// query sees to the last that its last query sees.
std::int64_t attended_pairs(std::int64_t tokens, std::int64_t past, const AttentionMask& mask,
                            std::int64_t query_block);

// A block of no more queries takes the softmax of each of them alone, of the keys that it sees; a larger one that of
// all its pairs together.
constexpr std::int64_t few_queries = 8;
std::int64_t softened_pairs(std::int64_t tokens, std::int64_t past, const AttentionMask& mask,
                            std::int64_t query_block);

}  // namespace reckon
