#include "train/schedule.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "files/quote.h"

namespace reckon {
namespace {

using Kind = Schedule::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 4> kinds = {
    {{"cosine", Kind::cosine}, {"linear", Kind::linear}, {"constant", Kind::constant}, {"wsd", Kind::wsd}}};

}  // namespace

double learning_rate(const Schedule& schedule, std::int64_t step) {
  if (step < schedule.warmup) {
    return schedule.peak * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  }
  if (schedule.kind == Kind::constant) return schedule.peak;
  const std::int64_t last = schedule.steps - 1;
  std::int64_t first = schedule.warmup;  // the last step at the peak is the one before
  if (schedule.kind == Kind::wsd) {
    const double decay = schedule.decay_share * static_cast<double>(schedule.steps);
    first = std::max(first, schedule.steps - static_cast<std::int64_t>(std::llround(decay)));
  }
  if (step < first) return schedule.peak;
  const double share = std::min(
      1.0, static_cast<double>(step - first + 1) / static_cast<double>(std::max<std::int64_t>(1, last - first + 1)));
  const double left = schedule.kind == Kind::cosine ? 0.5 * (1 + std::cos(std::numbers::pi * share)) : 1 - share;
  return schedule.least + (schedule.peak - schedule.least) * left;
}

std::string_view name_of(Schedule::Kind kind) {
  return std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.second == kind; })->first;
}

Schedule::Kind parse_schedule(const std::string& word) {
  for (const auto& [name, kind] : kinds) {
    if (word == name) return kind;
  }
  throw UsageError(fmt::format("`schedule` is {}; expected one of: cosine linear constant wsd", quote(word)));
}

}  // namespace reckon
