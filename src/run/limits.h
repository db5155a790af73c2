// What this machine can do at best, measured in turns with the run that is held against it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace reckon {

struct Spread {
  double least = 0, median = 0, most = 0;
};

// None of fewer than three: they say nothing about what lies between them.
std::optional<Spread> spread_of(std::vector<double> rates);

// A machine that others share, or that gets hot, is twice as fast in one second as in the next. So a limit is measured
// again and again, a piece at a time between pieces of the run, on the threads of the run.
class Limit {
 public:
  using Measure = std::function<double()>;  // one piece; returns the rate, a second

  explicit Limit(Measure measure) : measure_(std::move(measure)) {}

  // Between two pieces of the run: measures, as often as takes a hundredth of the time, and returns the rate where it
  // did. The first turn always does.
  std::optional<double> turn();

  std::optional<Spread> spread() const { return spread_of(rates_); }

 private:
  using Clock = std::chrono::steady_clock;

  Measure measure_;
  Clock::time_point next_{};
  std::vector<double> rates_;
};

}  // namespace reckon
