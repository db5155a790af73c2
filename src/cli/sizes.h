// Numbers as people write them on the command line: 512, 16k, 4M, 1.5B, 3e11; and ranges of them: 1k..1M.
//
// k and M are 1,024 and 1,024² for lengths and sizes of a network (a context of 16k is 16,384), and 10³ and 10⁶ for
// amounts of data and numbers of steps; B and T are 10⁹ and 10¹² always. Bytes have units of their own: KiB, MiB, GiB
// and TiB, kB, MB, GB and TB.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reckon::cli {

enum class Units { lengths, amounts, bytes };  // bytes: 2GiB, 500MB, 4096

// Which sizes an option takes.
struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
inline constexpr Bounds above_zero{1, std::numeric_limits<std::int32_t>::max()};
inline constexpr Bounds zero_or_more{0, std::numeric_limits<std::int32_t>::max()};

// A whole number within bounds. `option` names it in the UsageError: "--layers is '1.5x'; expected …".
std::int64_t parse_size(const std::string& text, const std::string& option, Bounds bounds = {},
                        Units units = Units::lengths);

// All of the text as a whole number in digits; nothing if it is not one, or does not fit.
template <std::integral Integer>
std::optional<Integer> parse_whole(std::string_view text) {
  Integer value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

// "A..B" doubles from A to B, "A..B:step" adds; `steps` > 0 instead spreads so many points evenly.
struct SizeRange {
  std::vector<std::int64_t> values;
  bool doubling = false;
};
bool is_range(const std::string& text);
SizeRange parse_range(const std::string& text, const std::string& option, Bounds bounds, std::int64_t steps);

}  // namespace reckon::cli
