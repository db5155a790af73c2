// The layouts of a number of devices that divide a model and a step's sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "time/search.h"

namespace reckon {

std::vector<std::int64_t> divisors(std::int64_t n);

// Workloads of a rank with these layouts, one for each split (of one piece a stage, without ZeRO and one micro-batch),
// with tensor ranks up to `most_tensor`.
std::vector<Workload> splits_of(const Search& search, std::int64_t most_tensor);

// All ways to train with a split: micro-batches, what is computed again, virtual stages and what data ranks share out.
std::vector<Workload> ways_of(const Search& search, const Workload& split);

}  // namespace reckon
