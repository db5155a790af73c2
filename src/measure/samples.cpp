#include "measure/samples.h"

namespace reckon {
namespace {

// So many runs, or as many as take this long; one that is longer is run once.
constexpr std::size_t most_runs = 16;
constexpr double enough = 0.01;  // seconds

// `run` returns its seconds.
template <class Run>
void repeat(Run run) {
  double taken = 0;
  for (std::size_t i = 0; i < most_runs && taken < enough; ++i) taken += run();
}

// The median, without the first where there are others: memory was cold, threads were asleep.
double settled(std::vector<double> values) {
  if (values.size() > 1) values.erase(values.begin());
  return median_of(std::move(values));
}

}  // namespace

void ProbeSamples::take() {
  std::vector<std::vector<double>> runs;
  repeat([&] {
    regions_ = probe_->profile();
    runs.resize(regions_.size());
    double sum = 0;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      runs[i].push_back(regions_[i].seconds);
      sum += regions_[i].seconds;
    }
    return sum;
  });
  samples_.resize(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) samples_[i].push_back(settled(std::move(runs[i])));
}

void ProbeSamples::run_whole() {
  std::vector<double> runs;
  repeat([&] { return runs.emplace_back(probe_->time()); });
  runs_.push_back(settled(std::move(runs)));
}

void ProbeSamples::take_whole() {
  run_whole();
  whole_.push_back(median_of(std::exchange(runs_, {})));
}

std::vector<double> ProbeSamples::all_medians() const {
  std::vector<double> medians;
  for (std::size_t i = 0; i < samples_.size(); ++i) medians.push_back(median(i));
  return medians;
}

}  // namespace reckon
