// The small models of tests/data/tiny, ready to run, and what they are known to give (see the README there).
#pragma once

#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "paths.h"
#include "run/engine.h"
#include "run/weights.h"

namespace reckon::testing_models {

inline std::filesystem::path tiny_folder() { return std::filesystem::path(project_folder()) / "tests/data/tiny"; }

inline std::vector<std::string> tiny_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(tiny_folder())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A folder's name as that of a parameterised test.
inline std::string tiny_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

inline nlohmann::json tiny_io(const std::string& name) {
  std::ifstream file(tiny_folder() / name / "io.json");
  return nlohmann::json::parse(file);
}

inline Engine tiny_engine(const std::string& name, const EngineOptions& options) {
  const std::filesystem::path folder = tiny_folder() / name;
  const Model model = load_model(folder.string());
  return Engine(model, Weights::load(model, folder), options);
}

// The models whose gradients are stored too.
inline std::vector<std::string> with_gradients() {
  std::vector<std::string> names;
  for (const std::string& name : tiny_names()) {
    if (std::filesystem::exists(tiny_folder() / name / "grads.safetensors")) names.push_back(name);
  }
  return names;
}

struct Batch {
  std::vector<std::int32_t> ids, labels;
  std::int64_t batch = 0, tokens = 0;
};

// The references predict each next token; the last one of a row has none.
inline Batch batch_of(const nlohmann::json& io) {
  Batch b;
  for (const auto& row : io["ids"]) {
    const auto ids = row.get<std::vector<std::int32_t>>();
    b.ids.insert(b.ids.end(), ids.begin(), ids.end());
    b.labels.insert(b.labels.end(), ids.begin() + 1, ids.end());
    b.labels.push_back(-1);
    ++b.batch;
    b.tokens = static_cast<std::int64_t>(ids.size());
  }
  return b;
}

}  // namespace reckon::testing_models
