// How long the regions of a probe's program take: a sample of each in every round, and the median of those.
#pragma once

#include "measure/probe.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace reckon {

inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// How long ops took that were measured in several networks, by what makes them alike: in each network the median of
// those that are, and of all networks the least. There they waited the least for memory, which is timed apart.
template <class Key>
class LeastWaiting {
 public:
  void add_network(const std::map<Key, std::vector<double>>& seconds) {
    for (const auto& [key, values] : seconds) {
      const double median = median_of(values);
      double& least = least_.try_emplace(key, median).first->second;
      least = std::min(least, median);
    }
  }
  const std::map<Key, double>& seconds() const { return least_; }

 private:
  std::map<Key, double> least_;
};

class ProbeSamples {
 public:
  explicit ProbeSamples(std::unique_ptr<Probe> probe) : probe_(std::move(probe)) {}

  Probe& probe() { return *probe_; }
  const Program& program() const { return probe_->program(); }

  // A round's sample of each region, or of the whole run: the median of a few runs, without the first where there are
  // others.
  void take();
  void take_whole();
  // Runs it now: the next sample of the whole run is the median of all such runs.
  void run_whole();

  // Of the program, as they ran; where take() was called.
  const std::vector<RegionTime>& regions() const { return regions_; }
  double median(std::size_t region) const { return median_of(samples_[region]); }
  std::vector<double> all_medians() const;
  const std::vector<double>& whole() const { return whole_; }
  double whole_median() const { return median_of(whole_); }

 private:
  std::unique_ptr<Probe> probe_;
  std::vector<RegionTime> regions_;
  std::vector<std::vector<double>> samples_;  // of each region, a round each
  std::vector<double> runs_;                  // since the last sample of the whole run
  std::vector<double> whole_;
};

}  // namespace reckon
