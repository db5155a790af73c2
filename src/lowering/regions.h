// Which ops run at the same time: products that follow each other and don't depend on each other (query, key, value;
// the gradients of a product's input and of its weight).
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

// The number of each op's region, rising by one from region to region.
std::vector<std::int64_t> parallel_regions(const Program& program);

// Whether an op is run as dense products, and may share a region with others.
bool is_product(const Op& op);

// The tensor whose memory `id` is part of, and the element at which it begins there.
struct Placement {
  TensorId root;
  std::int64_t offset;
};
Placement placement(const Program& program, TensorId id);

}  // namespace reckon
