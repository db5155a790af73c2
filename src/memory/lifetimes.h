// When each tensor of a folded program holds its memory. Of a long repeat, only its first and last iterations are
// looked at: those between are like them.
#pragma once

#include "program/program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reckon {

// A number of a program's, which may be negative where there is none, as a place in a vector.
inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Bytes in use while an op runs, in the first, second, last but one and last of its iterations, in the order in which
// they run. From the second to the last but one, each iteration adds or takes away as much as the one before.
struct Live {
  std::int64_t first = 0, second = 0, before_last = 0, last = 0;
  std::int64_t most() const;
  std::int64_t at(std::int64_t step, std::int64_t steps) const;
};

struct Lifetimes {
  // One iteration's instance of a tensor, on the timeline of regions of what is looked at.
  struct Life {
    TensorId id;
    std::int64_t iteration;  // of those looked at
    std::int64_t first, last;
  };
  std::vector<Life> lives;          // by tensor, then by iteration
  std::vector<std::int64_t> shown;  // how many iterations of each repeat are looked at: as odd or even as all of them
  std::vector<bool> saved;          // of each tensor, whether a later body reads it in the same iteration
  std::vector<Live> live;           // of each op
  std::int64_t peak = 0;            // bytes
  // Where the peak is first reached: the op, its iteration in the order in which they run, and how many instances of
  // each tensor hold memory then.
  std::size_t peak_op = 0;
  std::int64_t peak_step = 0;
  std::vector<std::int64_t> alive;
  std::int64_t kept = 0;  // bytes that are alive between the forward and the backward stage
};

// `regions`: of each op; those of one region run at the same time. `held`: whether a tensor's memory is asked for,
// which takes whole multiples of `alignment` bytes.
Lifetimes find_lifetimes(const Program& program, const std::vector<std::int64_t>& regions,
                         const std::vector<bool>& held, std::int64_t alignment);

}  // namespace reckon
