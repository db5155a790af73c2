// A training run as one page of HTML that needs nothing else: its curves, its layers, its samples, its cost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace reckon {

// From the lines of a run's metrics.jsonl.
std::string training_page(const std::vector<nlohmann::ordered_json>& metrics);

}  // namespace reckon
