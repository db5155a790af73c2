// Lowered attention: scores, softmax and mixing in one pass over the keys, block of queries by block, so that no
// T × S matrix is ever held (Dao et al., arXiv 2205.14135). Keys that no query of a block may see are skipped.
#pragma once

#include "program/builder.h"

namespace reckon {

extern const Operation attend_operation;

// Tokens in a block of queries; fixed, so that what is computed depends on the shape alone.
constexpr std::int64_t query_block = 64;

// The (query, key) pairs that are computed for each head: each block sees the keys from the first that its first
// query sees to the last that its last query sees.
std::int64_t attended_pairs(std::int64_t tokens, std::int64_t past, std::int64_t window);

}  // namespace reckon
