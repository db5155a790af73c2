#include "cli/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <utility>

#include "files/numbers.h"
#include "files/quote.h"

namespace reckon::cli {
namespace {

constexpr std::int64_t most_points = 1'000'000;

// What a letter behind a number multiplies it by; nothing where it is no unit.
std::optional<std::int64_t> unit_of(char letter, Units units) {
  const std::int64_t k = units == Units::lengths ? 1024 : 1000;
  if (letter == 'k' || letter == 'K') return k;
  if (letter == 'M') return k * k;
  if (letter == 'B' || letter == 'G') return 1'000'000'000;
  if (letter == 'T') return 1'000'000'000'000;
  return std::nullopt;
}

// The unit behind a number, which is taken off it.
std::optional<std::int64_t> take_unit(std::string_view& text, Units units) {
  if (units != Units::bytes) {
    const auto unit = text.empty() ? std::nullopt : unit_of(text.back(), units);
    if (unit) text.remove_suffix(1);
    return unit;
  }
  constexpr std::int64_t k = 1000, ki = 1024;
  static constexpr std::pair<std::string_view, std::int64_t> byte_units[] = {
      {"KiB", ki}, {"MiB", ki * ki}, {"GiB", ki * ki * ki}, {"TiB", ki * ki * ki * ki},
      {"kB", k},   {"MB", k * k},    {"GB", k * k * k},     {"TB", k * k * k * k},
      {"B", 1}};
  for (const auto& [name, size] : byte_units) {
    if (!text.ends_with(name)) continue;
    text.remove_suffix(name.size());
    return size;
  }
  return std::nullopt;
}

// digits[.digits][e digits][unit], as an exact whole number; nothing if it is not one, or past 2⁶³.
std::optional<std::int64_t> read_size(std::string_view text, Units units) {
  const auto unit = take_unit(text, units);
  std::int64_t value = 0;
  int exponent = 0;
  bool point = false, digits = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e'; ++i) {
    if (text[i] == '.' && !point && digits) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[i] - '0', &value))
      return std::nullopt;
    digits = true;
    if (point) --exponent;
  }
  if (!digits || text.ends_with('.')) return std::nullopt;
  if (i < text.size()) {  // e11
    const std::optional<unsigned> power = parse_whole<unsigned>(text.substr(i + 1));
    if (!power || text.size() - i > 3) return std::nullopt;
    exponent += static_cast<int>(*power);
  }
  if (__builtin_mul_overflow(value, unit.value_or(1), &value)) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  }
  for (; exponent < 0; ++exponent) {
    if (value % 10 != 0) return std::nullopt;
    value /= 10;
  }
  return value;
}

}  // namespace

std::int64_t parse_size(const std::string& text, const std::string& option, Bounds bounds, Units units) {
  const std::optional<std::int64_t> value = read_size(text, units);
  if (value && *value >= bounds.least && *value <= bounds.most) return *value;
  std::vector<std::string> examples;
  const bool in_bytes = units == Units::bytes;
  for (const char* example : {in_bytes ? "4096" : "12", in_bytes ? "500MB" : "16k",
                              in_bytes                  ? "2GiB"
                              : units == Units::lengths ? "4M"
                                                        : "300B"}) {
    const std::int64_t size = *read_size(example, units);
    if (size >= bounds.least && size <= bounds.most) examples.emplace_back(example);
  }
  const bool limited = bounds.most < std::numeric_limits<std::int64_t>::max();
  throw UsageError(fmt::format("{} is {}; expected a whole number from {} to {}{}", option, value ? text : quote(text),
                               bounds.least, limited ? grouped(bounds.most) : "2^63",
                               examples.empty() ? "" : fmt::format(", such as {}", fmt::join(examples, " or "))));
}

bool is_range(const std::string& text) { return text.find("..") != std::string::npos; }

SizeRange parse_range(const std::string& text, const std::string& option, Bounds bounds, std::int64_t steps) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = text.find(':', dots);
  const std::int64_t first = parse_size(text.substr(0, dots), "the start of " + option, bounds);
  const std::size_t end = std::min(colon, text.size());
  const std::int64_t last = parse_size(text.substr(dots + 2, end - dots - 2), "the end of " + option, bounds);
  if (last < first) throw UsageError(fmt::format("{} is {}; expected a range that goes up", option, quote(text)));
  SizeRange range;
  if (colon != std::string::npos) {
    if (steps > 0) throw UsageError(fmt::format("{} has a step of its own; expected it or --steps, not both", option));
    const std::int64_t step = parse_size(text.substr(colon + 1), "the step of " + option);
    if ((last - first) / step >= most_points) {
      throw UsageError(fmt::format("{} is {}, more than {} points", option, quote(text), most_points));
    }
    for (std::int64_t i = 0; i <= (last - first) / step; ++i) range.values.push_back(first + i * step);
  } else if (steps > 0) {
    if (steps > most_points) throw UsageError(fmt::format("--steps is {}; expected at most {}", steps, most_points));
    for (std::int64_t i = 0; i < steps; ++i) {
      const auto share = steps == 1 ? 0.0L : static_cast<long double>(i) / static_cast<long double>(steps - 1);
      const auto value = first + static_cast<std::int64_t>(share * static_cast<long double>(last - first) + 0.5L);
      if (range.values.empty() || value != range.values.back()) range.values.push_back(value);
    }
  } else {
    range.doubling = true;
    for (std::int64_t value = std::max<std::int64_t>(first, 1); value < last; value *= 2) {
      range.values.push_back(value);
      if (value > last / 2) break;
    }
    if (first == 0) range.values.insert(range.values.begin(), 0);
    if (range.values.empty() || range.values.back() != last) range.values.push_back(last);
  }
  return range;
}

}  // namespace reckon::cli
