// How long a program takes on a device: of each op the time of its FLOPs, of its bytes and of what it sends, by the
// costs of its rule and the rates of the profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "time/profile.h"

namespace reckon {

// `pipeline`: nothing runs, as the pipeline fills or drains.
enum class Bound : std::uint8_t { compute, memory, link, launch, pipeline };
inline constexpr Bound bounds[] = {Bound::compute, Bound::memory, Bound::link, Bound::launch, Bound::pipeline};
std::string_view bound_name(Bound bound);

// Seconds of one instance of an op.
struct OpTime {
  std::size_t op = 0;              // of the program
  std::int64_t count = 1;          // instances
  DType factors = DType::float32;  // the type that its products are computed in, if it has any
  double compute = 0;              // its FLOPs
  double memory = 0;               // the bytes that it reads and writes
  double link = 0;                 // what it sends to other ranks
  double copies = 0;               // of parts that it needs beside each other
  double waits = 0;                // of a processor, for matrices that no cache has
  double overhead = 0;             // a launch, as far as the device waits for it
  double seconds() const;
  Bound bound() const;  // what takes the most of it
};

struct Timing {
  std::vector<OpTime> ops;  // one for each op of the program, in its order; those that run nothing take no time
  double forward = 0, backward = 0, optimizer = 0;  // seconds, one op after the other
  std::vector<std::string> assumptions;             // that are no figures of the profile, a sentence each
  double total() const { return forward + backward + optimizer; }
  void add_up(const Program& program);  // the seconds of each stage, of the ops' times
};

// A folded or expanded lowered program, of one rank and micro-batch where the workload has a layout.
Timing time_program(const Program& lowered, const Hardware& hardware);

// The wider type of the two factors of an op's products.
DType factor_type(const Program& program, const Op& op);

}  // namespace reckon
