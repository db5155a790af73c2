// What the time of a workload on devices comes to: by parts of the network, tokens in a second, how well the devices
// are used, how throughput follows the batch, and what a whole training takes.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lowering/target.h"
#include "program/program.h"
#include "time/profile.h"
#include "time/roofline.h"
#include "time/rows.h"
#include "time/step.h"

namespace reckon {

struct Estimate {
  Workload workload;
  Hardware hardware;
  std::optional<double> plain_share;  // of the peak, which was given in place of a model of efficiency: no rows then
  ComputeType type = ComputeType::bfloat16;         // that most products are computed in
  double peak = 0;                                  // FLOP/s of a device in it
  double reached_flops = 0, reached_bandwidth = 0;  // of it by large products and transfers, measured or assumed
  std::vector<TimeRow> rows;                        // of a rank; they add up to `seconds`
  Step step;                                        // what these come from
  std::array<double, 3> stages{};                   // seconds of a step, by Stage; other phases are all forward
  double bubble = 0;                                // seconds that a rank waits for its pipeline
  double seconds = 0;                // of one run on all devices: a prompt, a token of each sequence, a step
  double sequences = 0, tokens = 0;  // that are new in it, on all devices
  double headline = 0;     // FLOPs of the network's products in it, every score counted, nothing computed again
  double computed = 0;     // FLOPs of the products that the programs of all devices compute
  double at_peaks = 0;     // device-seconds that these would take at the peaks of their types
  std::int64_t bytes = 0;  // of memory, of the rank that needs the most
  std::vector<std::string> assumptions;
  double tokens_per_second() const { return tokens / seconds; }
  double flops_per_second() const { return headline / seconds; }  // of all devices together
  double mfu() const { return flops_per_second() / (peak * static_cast<double>(hardware.devices)); }
  double hfu() const { return at_peaks / (seconds * static_cast<double>(hardware.devices)); }
  // Seconds of a run that are bound so.
  double bound_by(Bound bound) const;
};

// As the profile's rates and the model of efficiency have it (docs/predicting.md). The workload's layout has as many
// ranks as there are devices. Without places, `bytes` have the peaks of arenas (memory/plan.h), as its step always has.
Estimate estimate(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware,
                  Places places = Places::all);
// Headline FLOPs at a share of the peak of all devices.
Estimate plain_estimate(const Model& model, const Workload& workload, const Hardware& hardware, double share);

// How throughput follows the batch, up to the largest that the devices' memory holds.
struct BatchPoint {
  std::int64_t batch = 1;  // of a rank
  double seconds = 0, tokens_per_second = 0;
  std::int64_t bytes = 0;  // of memory, of a rank
  Bound bound = Bound::memory;
};
struct Throughput {
  std::vector<BatchPoint> points;    // doubling, and the largest
  std::int64_t largest = 0;          // batch that fits; 0: none
  std::int64_t needed = 0;           // then: bytes that a batch of 1 needs
  bool all = false;                  // the largest that is looked at fits
  std::optional<std::int64_t> knee;  // the first batch from which on most of the time is computing; none: no such fits
};
Throughput throughput(const Model& model, const Workload& workload, const Target& target, const Hardware& hardware);

// What an hour of a device costs, and whence that is: "3.59 USD a device-hour (RunPod …, 2026-03)".
struct DevicePrice {
  double usd_per_hour = 0;
  std::string text;
};
// `usd_per_hour`, else the profile's; none: it has none.
std::optional<DevicePrice> price_of(const Profile& profile, std::optional<double> usd_per_hour);
// USD for a million tokens.
double usd_per_million(const DevicePrice& price, std::int64_t devices, double tokens_per_second);

// A whole training.
struct TrainingRun {
  double tokens = 0, steps = 0;
  double seconds = 0, device_hours = 0;
  std::optional<double> kilowatt_hours;  // at most: all devices at their most watts, without their hosts
  std::optional<double> usd;
  std::string price;  // DevicePrice::text; empty: none is known
  double days() const { return seconds / 86400; }
};
// `usd_per_hour` of a device; none: the profile's.
TrainingRun training_run(const Estimate& step, double tokens, std::optional<double> usd_per_hour);

}  // namespace reckon
