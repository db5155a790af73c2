// How long this machine is predicted to take beside how long it took: a prefill, a step of decoding and a step of
// training, each as a whole and op by op.
#pragma once

#include <reckon/model.h>

#include "measure/calibrate.h"
#include "run/limits.h"
#include "run/weights.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

// Ops of one kind and part of the network, in one run. Products that run together are under the first of them.
struct OpShare {
  std::string operation;                           // "attend attention"
  std::int64_t calls = 0;                          // regions
  double predicted = 0, measured = 0;              // seconds
  double predicted_share = 0, measured_share = 0;  // of all ops of the phase
};

struct TimedPhase {
  Phase phase = Phase::prefill;
  std::int64_t batch = 1, tokens = 1, past = 0;
  double predicted = 0;         // seconds
  Spread measured;              // of the rounds; each is the median of a few runs
  std::vector<OpShare> shares;  // the longest first
  double ratio() const { return predicted / measured.median; }
  // Whether the prediction is off by at most this share of what was measured.
  bool within(double tolerance) const { return std::abs(ratio() - 1) <= tolerance; }
  double predicted_in_ops() const;  // the sum of the shares
  double measured_in_ops() const;
};

struct TimeVerification {
  Profile profile;      // that predicts
  bool stored = false;  // whether it was measured before
  std::int64_t rounds = 0;
  std::vector<TimedPhase> phases;
};

struct VerifyTimeOptions {
  std::vector<Phase> phases = {Phase::prefill, Phase::decode, Phase::train};
  std::int64_t tokens = 0;           // of a sequence; 0: half the context, in training all of it, at most 512
  std::int64_t batch = 1;            // of decoding and training
  DType precision = DType::float32;  // of training
  std::int64_t rounds = 5;
  std::optional<Profile> stored;  // predict with this one; none: measure one in turns with the runs
  ProbeOptions probe;
};

// `progress` is told how many of how many steps are done.
using RoundsDone = std::function<void(std::int64_t done, std::int64_t total)>;
TimeVerification verify_time(const Model& model, const std::function<Weights()>& weights,
                             const VerifyTimeOptions& options, const RoundsDone& progress = {});

}  // namespace reckon
