#include "run/limits.h"

#include <algorithm>

namespace reckon {

std::optional<Spread> spread_of(std::vector<double> rates) {
  if (rates.size() < 3) return std::nullopt;
  std::sort(rates.begin(), rates.end());
  return Spread{rates.front(), rates[rates.size() / 2], rates.back()};
}

std::optional<double> Limit::turn() {
  constexpr double share = 0.01;  // of the time
  if (!rates_.empty() && Clock::now() < next_) return std::nullopt;
  if (rates_.empty()) measure_();  // its memory is still cold
  const Clock::time_point begin = Clock::now();
  const double rate = measure_();
  const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
  next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(taken / share));
  rates_.push_back(rate);
  return rate;
}

}  // namespace reckon
