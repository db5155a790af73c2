// The presets: published architectures in config.json form, embedded from src/model/presets/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

struct Preset {
  std::string_view name;
  std::string_view config;  // JSON text
};

// Sorted by name.
const std::vector<Preset>& presets();

// nullptr where there is none of that name.
inline const Preset* preset_named(std::string_view name) {
  for (const Preset& preset : presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

// There is none of that name: a UsageError that suggests the nearest.
[[noreturn]] void refuse_preset(const std::string& name);

}  // namespace reckon
