#include "model/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), last, step);
  if (error != std::errc() || end != last || step < 0) return std::nullopt;
  return step;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:06}", prefix, step); }

std::vector<SavedStep> saved_steps(const fs::path& run) {
  std::vector<SavedStep> steps;
  std::error_code error;
  for (fs::directory_iterator entry(run / "checkpoints", error), end; !error && entry != end; entry.increment(error)) {
    const std::optional<std::int64_t> step = step_of(entry->path().filename().string());
    if (step) steps.push_back({*step, entry->path()});
  }
  std::sort(steps.begin(), steps.end(), [](const SavedStep& a, const SavedStep& b) { return a.step < b.step; });
  return steps;
}

}  // namespace reckon
