// A training run as one page of HTML that needs nothing else: its curves, its layers, its samples, its cost.
#pragma once

#include <string>
#include <vector>

#include "report/json.h"

namespace reckon {

// From the lines of a run's metrics.jsonl.
std::string training_page(const std::vector<OrderedJson>& metrics);

}  // namespace reckon
