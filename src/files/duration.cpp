#include "files/duration.h"

#include <fmt/format.h>

#include <cmath>

#include "files/numbers.h"

namespace reckon {

std::string duration(double seconds) {
  static constexpr struct {
    double below, unit;
    const char* name;
  } units[] = {{1e-3, 1e-6, "µs"}, {1, 1e-3, "ms"}, {120, 1, "s"}, {7200, 60, "min"}, {172800, 3600, "h"}};
  for (const auto& [below, unit, name] : units) {
    if (seconds >= below) continue;
    const double value = seconds / unit;
    return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : 1, name);
  }
  return group_digits(fmt::format("{:.1f}", seconds / 86400)) + " days";
}

}  // namespace reckon
