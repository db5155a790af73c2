// A Model from a config.json in the form of Hugging Face transformers.
#pragma once

#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/fields.h"

namespace reckon {

// `where` names the file in errors and becomes the model's name. Fields that are left out take transformers' defaults,
// except the sizes that make the model. A field that is not understood and could change a count is an error.
Model read_config(const nlohmann::json& config, const std::string& where);

// The same of the fields of that file, which then know what the family calls them (spellings()), unless the language
// model is nested in them.
Model read_config(Fields& file);

// What a config.json says of how its files are quantised stands in one of these.
inline constexpr const char* quantization_fields[] = {"quantization_config", "compression_config", "quantization"};

// The supported values of `model_type`, sorted.
const std::vector<std::string>& model_types();

}  // namespace reckon
