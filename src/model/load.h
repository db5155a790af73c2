// A Model by the name of a preset or from a path (location.h says which is which).
#pragma once

#include <reckon/model.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "model/location.h"

namespace reckon {

struct Described {
  Model model;
  nlohmann::ordered_json config;  // as it was written; of a GGUF file, what a config.json would say
};

// The model's name is the text as given; that of standard input is "standard input".
Described load_described(const std::string& name_or_path);

// Declared for users in reckon/reckon.h.
Model load_model(const std::string& name_or_path);

// A JSON file from outside: `where` names it in errors, `expected` says what it should be ("a config.json").
nlohmann::ordered_json read_json_file(const std::filesystem::path& path, const std::string& where,
                                      const std::string& expected);

// The preset of exactly that name. The model's name is the preset's.
Model find_preset(const std::string& name);

}  // namespace reckon
