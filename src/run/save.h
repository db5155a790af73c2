// Writing a checkpoint: a folder with config.json and model.safetensors in the family's own layout, as transformers
// reads it.
#pragma once

#include <reckon/model.h>

#include "run/weights.h"

#include <filesystem>
#include <string>

namespace reckon {

// Each parameter in the type that it has. `config` is the text of the model's config.json. Each file is written beside
// its place and then renamed.
void save_checkpoint(const Model& model, const Weights& weights, const std::string& config,
                     const std::filesystem::path& folder);

}  // namespace reckon
