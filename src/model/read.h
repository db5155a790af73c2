// A Model from a config.json in the form of Hugging Face transformers.
#pragma once

#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace reckon {

// `where` names the file in errors and becomes the model's name. Fields that are left out take transformers' defaults,
// except the sizes that make the model. A field that is not understood and could change a count is an error.
Model read_config(const nlohmann::json& config, const std::string& where);

// The supported values of `model_type`, sorted.
const std::vector<std::string>& model_types();

}  // namespace reckon
