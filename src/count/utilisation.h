// What share of a device's peak a measured training step or run of a network was: by the program, and as publications
// count.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <string>
#include <vector>

#include "compile/compile.h"

namespace reckon {

// FLOPs of a step over what the devices could have computed meanwhile. Model FLOPs (MFU) are those of the mathematics,
// hardware FLOPs (HFU) those that were run, with what was computed again.
struct Utilisation {
  std::string name;  // "program", or of a convention
  std::string formula, meaning, reference;
  bool hardware = false;
  double flops = 0, share = 0;
};

// Of a step of `workload` (its batch all sequences that went through it, over all devices) that took so long on devices
// with `peak` FLOP/s together.
std::vector<Utilisation> utilisations(const Model& model, Workload workload, const Target& target, double seconds,
                                      double peak);

}  // namespace reckon
