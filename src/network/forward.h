// The one function that writes every network as a program.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "program/program.h"

#include <string_view>
#include <vector>

namespace reckon {

// The most sequences, tokens of one, and tokens before them.
inline constexpr std::int64_t largest_workload = std::int64_t{1} << 40;

// The workload with its open choices filled in for this model; throws UsageError where it makes no sense.
Workload resolve(const Model& model, Workload workload);

// "forward", "prefill", …
std::string_view phase_name(Phase phase);

// The rotary positions of a model's layers, each kind once, in the order of the program's tables.
std::vector<Rope> distinct_ropes(const Model& model);
// The same of what queries are multiplied by.
std::vector<PositionScale> distinct_position_scales(const Model& model);

// The forward pass; when training, with the loss at its end.
Program forward(const Model& model, const Workload& workload);
// That of one of its predictors, with the model's embedding and head.
Program forward(const Predictor& predictor, Model model, const Workload& workload);

}  // namespace reckon
