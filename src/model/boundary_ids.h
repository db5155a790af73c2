// The ids that begin and end a text, as a model's folder gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

// `bos_token_id` of the generation_config.json beside the config.json, or else of that. Nothing where neither has one,
// and for presets.
std::optional<std::int32_t> begin_of_text_id(const std::string& name_or_path);

// `eos_token_id` of the same: a number or several. Empty where neither has one, and for presets.
std::vector<std::int32_t> end_of_text_ids(const std::string& name_or_path);

}  // namespace reckon
