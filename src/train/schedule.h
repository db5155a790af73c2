// The learning rate of every step: a pure function of the step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reckon {

// All begin with `warmup` steps in which the rate rises in a straight line to `peak`.
struct Schedule {
  enum class Kind {
    constant,  // stays at the peak
    linear,    // falls to `least` in a straight line
    cosine,    // falls to `least` along half a cosine (Loshchilov and Hutter, arXiv 1608.03983)
    wsd,       // stays at the peak, and falls to `least` in a straight line over the last `decay_share` of all steps
               // (warm-up, stable, decay: Hu et al., arXiv 2404.06395)
  };
  Kind kind = Kind::cosine;
  double peak = 1e-3, least = 1e-4;
  std::int64_t warmup = 0, steps = 1;
  double decay_share = 0.2;  // of wsd
  bool operator==(const Schedule&) const = default;
};

// Of step `step`, counted from 0: (step + 1) / warmup of the peak while it warms up; the last step has `least`.
double learning_rate(const Schedule& schedule, std::int64_t step);

std::string_view name_of(Schedule::Kind kind);
Schedule::Kind parse_schedule(const std::string& word);  // a UsageError lists what is expected

}  // namespace reckon
