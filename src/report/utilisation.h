// MFU and HFU of a measured run.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <string>
#include <vector>

#include "count/utilisation.h"
#include "report/document.h"
#include "time/profile.h"

namespace reckon {

struct MeasuredRun {
  const Model& model;
  const Workload& workload;  // its batch is all sequences of a step
  const Hardware& hardware;
  ComputeType type;  // in which products are made, and the peak is taken
  double seconds;    // of a step
  double tokens_per_second;
  double peak;        // FLOP/s of all devices
  bool materialised;  // attention's scores were written out
};

Document utilisation_document(const MeasuredRun& run, const std::vector<Utilisation>& utilisations);

}  // namespace reckon
