// Which tokens a model keeps close to each other: rows of its token embedding, by the cosine of the angle between them.
#pragma once

#include <cstdint>
#include <vector>

#include "run/weights.h"

namespace reckon {

struct Neighbour {
  std::int32_t id = 0;
  double cosine = 0;
};

// The `count` nearest of another token, the nearest first; of equally near ones the lower id. A row of zeros has the
// cosine 0 with any. A UsageError where the token is not in the vocabulary.
std::vector<Neighbour> nearest_tokens(const Weights& weights, std::int32_t token, std::int64_t count);

}  // namespace reckon
