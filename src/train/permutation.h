// A shuffled order of any length that takes no memory: a Feistel network over the smallest even number of bits that
// holds the length, applied again while its result lies past the end (cycle walking: Black and Rogaway 2002).
#pragma once

#include <cstdint>

namespace reckon {

class Permutation {
 public:
  Permutation(std::int64_t length, std::uint64_t seed);
  // One to one from [0, length) to itself.
  std::int64_t operator()(std::int64_t index) const;

 private:
  std::uint64_t length_, seed_;
  unsigned half_bits_ = 1;
};

}  // namespace reckon
