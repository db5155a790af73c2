// A training run from what the command line asked for.
#pragma once

#include <set>
#include <string>

#include "cli/options.h"
#include "run/engine.h"
#include "train/settings.h"

namespace reckon::cli {

struct TrainCommand {
  Settings settings;            // those not given have their usual values
  std::set<std::string> given;  // keys of the settings that were
  Options changes;              // to the model
  std::string out;              // the folder of the run; empty: one of its own
  std::string report;           // an HTML file
  bool resume = false, fall_back = false;
  int threads = 0;
  Device device = Device::cpu;
};

void run_training(TrainCommand command);

}  // namespace reckon::cli
