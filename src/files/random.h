// Random numbers that are the same on every platform: SplitMix64 (Steele, Lea and Flood 2014), a hash of a counter.
#pragma once

#include <cstdint>

namespace reckon {

inline constexpr std::uint64_t splitmix_step = 0x9E3779B97F4A7C15u;  // 2⁶⁴ divided by the golden ratio, odd

// A good hash of a counter: SplitMix64's output for the state x.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += splitmix_step;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    const std::uint64_t result = mixed(state_);
    state_ += splitmix_step;
    return result;
  }

  // In [0, 1), every multiple of 2⁻⁵³ alike.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace reckon
