// The language model inside a multimodal config.json, which nests it as text_config beside a vision_config and others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace reckon {

// The name of the field that holds it; null where the config describes a language model itself.
const char* nested_language_model(const nlohmann::json& config);

// transformers writes into a nested config only what differs from the defaults of its class, sizes included. These are
// the sizes of a family's class, and the type where a nested config has a size and no type: that of a wrapper X is then
// X_text. An empty object where they are not known.
nlohmann::json what_is_left_out(const nlohmann::json& config, const char* nest);

// The config.json of the language model alone: the nested part with the sizes that were left out, or else `config`.
nlohmann::ordered_json language_model_config(const nlohmann::ordered_json& config);

}  // namespace reckon
