// Attention as it is written, found in a program: the ops forward, and those of its backward pass.
#pragma once

#include "lowering/uses.h"

#include <optional>

namespace reckon {

struct WrittenAttention {
  std::size_t scores, softmax, mix;    // ops
  std::optional<std::size_t> dropout;  // of the weights, between softmax and mixing
  // Backward, where there is one.
  struct Backward {
    std::vector<std::size_t> ops;                                  // all of them, in order
    TensorId d_out, d_query, d_keys, d_values, d_sinks, d_shifts;  // no_tensor where a gradient is not asked for
    TensorId query, keys, values;  // as these ops read them: gathered or computed once more, where they were not kept
  };
  std::optional<Backward> backward;
};

// The attention whose scores are made by op `scores`. Throws Error where they are not followed by a softmax and mixing.
WrittenAttention find_attention(const Program& program, const Uses& uses, std::size_t scores);

// A program without the scores and weights that are computed again for the backward pass: attention in one pass over
// the keys keeps neither, and makes them again by itself.
Program without_repeated_scores(Program program);

}  // namespace reckon
