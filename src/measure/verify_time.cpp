#include "measure/verify_time.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "lowering/regions.h"
#include "measure/samples.h"
#include "run/engine.h"
#include "threads/thread_count.h"
#include "time/roofline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace reckon {
namespace {

// What is run, and what of it the program says.
struct Timed {
  TimedPhase phase;
  ProbeSamples samples;
};

std::string share_name(const Op& op) { return fmt::format("{} {}", op.operation->name, path_of(op.scope.role)); }

std::vector<Timed> timed_phases(const Model& model, const std::function<Weights()>& weights,
                                const VerifyTimeOptions& options) {
  constexpr std::int64_t most = 512;
  std::shared_ptr<const LoadedModel> loaded;
  const auto to_run = [&] {
    if (loaded == nullptr) loaded = std::make_shared<const LoadedModel>(model, weights());
    return loaded;
  };
  std::vector<Timed> timed;
  for (const Phase phase : options.phases) {
    const bool train = phase == Phase::train;
    const std::int64_t usual = std::min(most, std::max<std::int64_t>(1, train ? model.context : model.context / 2));
    const std::int64_t tokens = options.tokens > 0 ? options.tokens : usual;
    TimedPhase result{phase, options.batch, tokens, 0, 0, {}, {}};
    std::unique_ptr<Probe> probe;
    if (train) {
      probe = probe_train(model, weights(), options.precision, options.batch, tokens, options.probe);
    } else if (phase == Phase::prefill) {
      result.batch = 1;
      probe = probe_prefill(to_run(), tokens, options.probe);
    } else {
      if (tokens >= model.context && model.positions.kind == Positions::Kind::learned)
        throw UsageError(fmt::format("a prompt of {} tokens leaves no room to decode in the context of {}, {}", tokens,
                                     model.name, model.context));
      probe = probe_decode(to_run(), options.batch, tokens, options.probe);
      result.tokens = 1;
      result.past = probe->lowered().workload.past;
    }
    timed.push_back({std::move(result), ProbeSamples(std::move(probe))});
  }
  return timed;
}

void check_stored(const Profile& profile, int threads) {
  const std::int64_t calibrated = profile.efficiency ? profile.efficiency->threads : 0;
  if (calibrated == 0)
    throw UsageError(
        fmt::format("{} was not measured by `reckon calibrate`, so no run is held against it", profile.name));
  if (calibrated != threads)
    throw UsageError(fmt::format("{} was measured with {} {}, and this run has {}; expected as many `threads` in both",
                                 profile.name, calibrated, calibrated == 1 ? "thread" : "threads", threads));
}

double sum(const std::vector<OpShare>& shares, double OpShare::*seconds) {
  return std::accumulate(shares.begin(), shares.end(), 0.0,
                         [&](double so_far, const OpShare& share) { return so_far + share.*seconds; });
}

void predict(TimedPhase& phase, const ProbeSamples& samples, const Program& lowered, const Hardware& hardware) {
  const Timing timing = time_program(lowered, hardware);
  phase.predicted = timing.total();
  std::map<std::string, OpShare> shares;
  // Ops that run together stand under the first of them, as they are measured.
  const std::vector<std::int64_t> regions = parallel_regions(lowered);
  std::map<std::int64_t, std::size_t> first;
  for (const OpTime& time : timing.ops) {
    const std::size_t head = first.try_emplace(regions[time.op], time.op).first->second;
    shares[share_name(lowered.ops[head])].predicted += time.seconds() * static_cast<double>(time.count);
  }
  for (std::size_t i = 0; i < samples.regions().size(); ++i) {
    OpShare& share = shares[share_name(samples.program().ops[samples.regions()[i].op])];
    share.measured += samples.median(i);
    ++share.calls;
  }
  for (auto& [name, share] : shares) {
    share.operation = name;
    phase.shares.push_back(share);
  }
  const double predicted = phase.predicted_in_ops(), measured = phase.measured_in_ops();
  for (OpShare& share : phase.shares) {
    share.predicted_share = share.predicted / predicted;
    share.measured_share = share.measured / measured;
  }
  std::stable_sort(phase.shares.begin(), phase.shares.end(),
                   [](const OpShare& a, const OpShare& b) { return a.measured > b.measured; });
}

}  // namespace

double TimedPhase::predicted_in_ops() const { return sum(shares, &OpShare::predicted); }
double TimedPhase::measured_in_ops() const { return sum(shares, &OpShare::measured); }

TimeVerification verify_time(const Model& model, const std::function<Weights()>& weights,
                             const VerifyTimeOptions& options, const RoundsDone& progress) {
  if (options.stored) check_stored(*options.stored, thread_count(options.probe.threads));
  std::vector<Timed> timed = timed_phases(model, weights, options);
  std::optional<Calibration> calibration;
  if (!options.stored) calibration.emplace(options.probe);
  const std::int64_t steps = (calibration ? calibration->steps() : 0) + std::ssize(timed);
  std::int64_t done = 0;
  // A machine may change its pace within a round: what is run so quickly is run all along the calibration.
  constexpr double quick = 0.02;        // seconds
  constexpr std::int64_t between = 16;  // steps
  std::vector<ProbeSamples*> along;
  if (calibration) {
    for (Timed& one : timed) {
      if (one.samples.probe().time() < quick) along.push_back(&one.samples);
    }
  }
  const auto step = [&] {
    ++done;
    if (progress) progress(done, steps * options.rounds);
    if (done % between != 0) return;
    for (ProbeSamples* samples : along) samples->run_whole();
  };
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    if (calibration) calibration->round(step);
    for (Timed& one : timed) {
      one.samples.take();
      one.samples.take_whole();
      step();
    }
  }
  TimeVerification result;
  result.stored = options.stored.has_value();
  result.profile = options.stored ? *options.stored : calibration->profile();
  result.rounds = options.rounds;
  for (Timed& one : timed) {
    const std::vector<double>& whole = one.samples.whole();
    one.phase.measured = {*std::min_element(whole.begin(), whole.end()), one.samples.whole_median(),
                          *std::max_element(whole.begin(), whole.end())};
    predict(one.phase, one.samples, one.samples.probe().lowered(), {result.profile, 1});
    result.phases.push_back(std::move(one.phase));
  }
  return result;
}

}  // namespace reckon
