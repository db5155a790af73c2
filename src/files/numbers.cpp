#include "files/numbers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace reckon {
namespace {

// A minus sign that is as wide as a plus.
std::string with_sign(std::string text) {
  if (text.starts_with("-")) text.replace(0, 1, "−");
  return text;
}

std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

struct Scaled {
  double value;
  std::size_t unit;
};

// Brought below `base` by dividing, `units` times at most; what would be printed as the base itself counts as past it.
Scaled scaled(double value, double base, std::size_t units) {
  std::size_t unit = 0;
  while (std::abs(value) >= base - 0.005 && unit + 1 < units) {
    value /= base;
    ++unit;
  }
  return {value, unit};
}

// Past the largest unit, digits are grouped.
std::string scaled_text(const Scaled& s, int digits) {
  return std::abs(s.value) >= 1e4 ? grouped(s.value) : fmt::format("{:.{}f}", s.value, digits);
}

std::string bytes_text(Count bytes, double base, const std::array<std::string_view, 9>& units) {
  const Scaled s = scaled(static_cast<double>(bytes), base, units.size());
  return scaled_text(s, s.unit == 0 ? 0 : 2) + " " + std::string(units[s.unit]);
}

}  // namespace

std::string group_digits(std::string number) {
  const std::size_t first = number.starts_with("-") ? 1 : 0;
  for (std::size_t i = std::min(number.find('.'), number.size()); i > first + 3; i -= 3) number.insert(i - 3, ",");
  return with_sign(number);
}

std::string grouped(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size >= 1e15 || (size < 1e-3 && size > 0)) {  // 3.14e23
    std::string text = fmt::format("{:.2e}", value);
    const std::size_t e = text.find('e');
    return with_sign(without_zeros(text.substr(0, e)) + "e" + std::to_string(std::stoi(text.substr(e + 1))));
  }
  const int digits = size >= 100 || value == std::floor(value) ? 0 : size >= 1 ? 2 : 4;
  return group_digits(without_zeros(fmt::format("{:.{}f}", value, digits)));
}

std::string percent(double share, int digits) { return with_sign(fmt::format("{:.{}f}%", 100 * share, digits)); }

std::string signed_percent(double share, int digits) {
  std::string text = fmt::format("{:+.{}f}%", 100 * share, digits);
  if (text.find_first_not_of("+-0.%") == std::string::npos) text.erase(0, 1);  // no sign on zero
  return with_sign(text);
}

std::string binary_bytes(Count bytes) {
  return bytes_text(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"});
}

std::string decimal_bytes(Count bytes) {
  return bytes_text(bytes, 1000, {"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"});
}

std::string flops(double flops) {
  static constexpr std::array<std::string_view, 9> units = {"FLOP",  "kFLOP", "MFLOP", "GFLOP", "TFLOP",
                                                            "PFLOP", "EFLOP", "ZFLOP", "YFLOP"};
  const Scaled s = scaled(flops, 1000, units.size());
  return scaled_text(s, s.unit == 0 ? 0 : s.value < 10 ? 3 : 2) + " " + std::string(units[s.unit]);
}

std::string compact(double value) {
  static constexpr std::array<std::string_view, 5> units = {"", "k", "M", "B", "T"};
  if (std::abs(value) >= 1e15) return grouped(value);
  const Scaled s = scaled(value, 1000, units.size());
  return with_sign(without_zeros(fmt::format("{:.{}f}", s.value, std::abs(s.value) < 10 ? 2 : 1))) +
         std::string(units[s.unit]);
}

}  // namespace reckon
