// Changes to a model as JSON: {"layers": 4, "ffn": "swiglu", "tied": true}, by the names of the options, with _ for -.
#pragma once

#include <nlohmann/json.hpp>

#include "model/modify.h"

namespace reckon {

// A UsageError names a key that is unknown, or a value that is no such change.
Changes read_changes(const nlohmann::ordered_json& json);

}  // namespace reckon
