// The ids that begin and end a text, as a model's config gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

// `bos_token_id` of the generation_config.json beside a config.json, or else of the model's own config, whatever its
// name, or else of the language model nested there. Nothing where none has one, for presets and for pipes.
std::optional<std::int32_t> begin_of_text_id(const std::string& name_or_path);

// `eos_token_id` of the same: a number or several. Empty where there is none.
std::vector<std::int32_t> end_of_text_ids(const std::string& name_or_path);

}  // namespace reckon
