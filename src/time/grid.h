// What was measured over several sizes at once, and what lies between.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>

namespace reckon {

// Between the two measured values of the first size that are nearest below and above, over its logarithm; of each of
// these, likewise over the next size. So a point has no say beyond its neighbours: a mean over all of them would draw
// the largest products, in the corner of what is measured, towards the many smaller and slower ones. Combinations may
// be missing. A size beyond all that were measured with the sizes before it is taken for the nearest.
template <std::size_t sizes>
class Grid {
 public:
  using Sizes = std::array<double, sizes>;

  void add(const Sizes& at, double value) { add(std::span<const double>(at), value); }
  bool any() const { return !slices_.empty(); }
  double at(const Sizes& asked) const { return at(std::span<const double>(asked)); }

 private:
  friend class Grid<sizes + 1>;

  void add(std::span<const double> at, double value) { slices_[at[0]].add(at.subspan(1), value); }
  double at(std::span<const double> asked) const {
    const auto rest = asked.subspan(1);
    const auto above = slices_.lower_bound(asked[0]);
    if (above == slices_.end()) return std::prev(above)->second.at(rest);
    if (above == slices_.begin() || above->first == asked[0]) return above->second.at(rest);
    const auto below = std::prev(above);
    const double share = std::log(asked[0] / below->first) / std::log(above->first / below->first);
    return (1 - share) * below->second.at(rest) + share * above->second.at(rest);
  }

  std::map<double, Grid<sizes - 1>> slices_;
};

template <>
class Grid<0> {
  friend class Grid<1>;
  void add(std::span<const double>, double value) { value_ = value; }
  double at(std::span<const double>) const { return value_; }
  double value_ = 0;
};

}  // namespace reckon
