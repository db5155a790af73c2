// Where the references of the model types are (scripts/references.py), and which of them are of types that are read.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/families.h"
#include "paths.h"

namespace reckon::family_references {

inline std::filesystem::path folder() { return std::filesystem::path(project_folder()) / "tests/data/families"; }

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

inline std::string document() {
  std::ifstream file(project_folder() + "/docs/families.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is there of types that are read: names of files or folders without their ending.
inline std::vector<std::string> found(const char* kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / kind)) {
    const std::string name = entry.path().stem().string();
    const nlohmann::json config = entry.is_directory() ? read_json(entry.path() / "config.json")
                                                       : read_json(entry.path())["configs"][0]["config"];
    const std::string type = (config.contains("text_config") ? config["text_config"] : config)["model_type"];
    if (find_family(type) != nullptr) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A file's or folder's name as that of a parameterised test.
inline std::string test_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

}  // namespace reckon::family_references
