#include "train/permutation.h"

#include "files/random.h"

namespace reckon {
namespace {

constexpr std::uint64_t n_rounds = 6;

}  // namespace

Permutation::Permutation(std::int64_t length, std::uint64_t seed)
    : length_(static_cast<std::uint64_t>(length)), seed_(mixed(seed)) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < length_) ++half_bits_;
}

std::int64_t Permutation::operator()(std::int64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (std::uint64_t round = 0; round < n_rounds; ++round) {
      const std::uint64_t next = left ^ (mixed(seed_ + round * splitmix_step + right) & mask);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= length_);
  return static_cast<std::int64_t>(value);
}

}  // namespace reckon
