// What is said of a name that is neither a file nor a preset. A file of its own: the page's module run, which has few
// presets, leaves other names to run-more.
#include <fmt/format.h>
#include <reckon/error.h>

#include <string>
#include <vector>

#include "model/nearest.h"
#include "model/presets.h"

namespace reckon {

void refuse_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  const std::string near = nearest(name, names);
  throw UsageError(fmt::format("there is neither a file nor a preset \"{}\"{}; `reckon models` lists the presets",
                               name.substr(0, 100), near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

}  // namespace reckon
