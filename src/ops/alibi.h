// ALiBi's slope of a head (Press et al., arXiv 2108.12409, section 3, with the published handling of counts that are no
// power of two).
#pragma once

#include <cmath>
#include <cstdint>

namespace reckon {

inline float alibi_slope(std::int64_t head, std::int64_t heads) {
  std::int64_t closest = 1;
  while (closest * 2 <= heads) closest *= 2;
  const double base = std::pow(2.0, -8.0 / static_cast<double>(closest));
  if (head < closest) return static_cast<float>(std::pow(base, static_cast<double>(head + 1)));
  const double extra = std::pow(2.0, -4.0 / static_cast<double>(closest));
  return static_cast<float>(std::pow(extra, static_cast<double>(2 * (head - closest) + 1)));
}

}  // namespace reckon
