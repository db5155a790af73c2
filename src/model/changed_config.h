// The config.json of a model that was made by changing another one.
#pragma once

#include <reckon/dtype.h>
#include <reckon/model.h>

#include <nlohmann/json.hpp>

namespace reckon {

// `base`, or the language model in it, with the fields changed in which `model` differs from what `base` describes.
// Reading it gives `model` again (its name and notes aside); a UsageError where no fields of the family can say so.
nlohmann::ordered_json changed_config(const nlohmann::ordered_json& base, const Model& model);

// The fields of it that `base` has otherwise: {"n_layer": 24}. Null: it has none of that name.
nlohmann::ordered_json changed_fields(const nlohmann::ordered_json& base, const Model& model);

// `config` of files that hold plain numbers: without what it says of how those of its own are quantised.
nlohmann::ordered_json unquantised_config(nlohmann::ordered_json config);

// `config` of files whose weights are in this type, where it names one ("torch_dtype", "dtype").
nlohmann::ordered_json config_of_type(nlohmann::ordered_json config, DType dtype);

}  // namespace reckon
