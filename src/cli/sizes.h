// Numbers as people write them on the command line: 512, 16k, 4M, 1.5B, 3e11; and ranges of them: 1k..1M.
//
// k and M are 1,024 and 1,024² for lengths and sizes of a network (a context of 16k is 16,384), and 10³ and 10⁶ for
// amounts of data and numbers of steps; B and T are 10⁹ and 10¹² always.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace reckon::cli {

enum class Units { lengths, amounts };

// Which sizes an option takes.
struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// A whole number within bounds. `option` names it in the UsageError: "--layers is '1.5x'; expected …".
std::int64_t parse_size(const std::string& text, const std::string& option, Bounds bounds = {},
                        Units units = Units::lengths);

// "A..B" doubles from A to B, "A..B:step" adds; `steps` > 0 instead spreads so many points evenly.
struct SizeRange {
  std::vector<std::int64_t> values;
  bool doubling = false;
};
bool is_range(const std::string& text);
SizeRange parse_range(const std::string& text, const std::string& option, Bounds bounds, std::int64_t steps);

}  // namespace reckon::cli
