// The ids that end a text, as a model's folder gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reckon {

// `eos_token_id` of the generation_config.json beside the config.json, or else of that: a number or several. Empty
// where neither has one, and for presets.
std::vector<std::int32_t> end_of_text_ids(const std::string& name_or_path);

}  // namespace reckon
