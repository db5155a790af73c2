// Where attention's products of pairs overtake its projections, by the program of each length.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <optional>

namespace reckon {

// The shortest context (past and new tokens) at which scores and mixing cost at least as many matmul FLOPs as the
// projections of attention, in the workload's phase and with its way to count causal scores. In decode the cache grows
// and the new tokens stay; elsewhere the new tokens grow. None where that is so at no length that can be counted.
std::optional<std::int64_t> crossover(const Model& model, const Workload& workload);

}  // namespace reckon
