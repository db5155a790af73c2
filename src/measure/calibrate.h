// Measures this machine with the kernels that it really runs, and makes a profile of it: products of many and of few
// rows, what threads read and write in a second, every other op in small networks of several widths, and what an op
// costs that does nothing.
#pragma once

#include "measure/probe.h"
#include "time/profile.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace reckon {

// A machine that others share, or that gets hot, is twice as fast in one second as in the next: so everything is
// measured once in each of several rounds, and the profile is the median of them. Rounds may be taken in turns with a
// run that is held against the profile.
class Calibration {
 public:
  // `quick`: the small sizes alone.
  explicit Calibration(const ProbeOptions& options, bool quick = false);
  ~Calibration();
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  int threads() const;
  std::int64_t steps() const;  // of a round
  // `step` is called after each; an exception that it throws ends the round.
  void round(const std::function<void()>& step = {});

  // Of the rounds so far, at least one.
  Profile profile() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace reckon
