// A Model by the name of a preset or from a path.
//
// What is a path: text with a slash, or with the ending of a model's file (.json, .safetensors, .gguf, .bin, …). Any
// other text is the name of a preset if there is one of that name, and else a path if something is there. So a folder
// called gpt2 does not hide the preset: ask for ./gpt2.
#pragma once

#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <string>

namespace reckon {

// PyTorch's own formats are pickles, by the ending of their names. Reading a pickle can run any code that is in it.
bool is_pickle(const std::string& path);

// Whether the text is a path by that rule.
bool is_model_path(const std::string& name_or_path);

// The preset of exactly that name. The model's name is the preset's.
Model find_preset(const std::string& name);

// Declared for users in reckon/reckon.h. The model's name is the text as given.
Model load_model(const std::string& name_or_path);

// What load_model() reads, as it was written.
nlohmann::ordered_json load_config(const std::string& name_or_path);

}  // namespace reckon
