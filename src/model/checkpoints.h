// The checkpoints in the folder of a training run: checkpoints/step-000123/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reckon {

struct SavedStep {
  std::int64_t step = 0;
  std::filesystem::path folder;
};

// By step: the newest is the last.
std::vector<SavedStep> saved_steps(const std::filesystem::path& run);

// "step-000123", the name of a checkpoint's folder.
std::string checkpoint_name(std::int64_t step);

}  // namespace reckon
