// The report of `time`: what a workload takes on devices, part by part, and what follows from it.
#pragma once

#include <reckon/model.h>

#include <optional>

#include "count/adapters.h"
#include "report/document.h"
#include "report/roofline_picture.h"
#include "time/estimate.h"

namespace reckon {

struct TimeReport {
  Model model;
  Estimate estimate;
  bool replicas = false;                 // several devices without a layout: each has a batch of its own
  std::optional<Throughput> throughput;  // over batches
  std::optional<TrainingRun> run;        // of a whole training
  std::optional<DevicePrice> price;      // where it is not of one
  bool batches = false;                  // show the throughput over batches
  bool roofline = false;                 // draw the roofline
  std::optional<AdapterCount> adapters;  // where there are some
  std::optional<DType> quantised;        // type of the layers' matrices, where these alone are
  bool stored = false;                   // weights have the types of their file
  bool materialised = false;             // attention's scores are written out
};

Document time_document(const TimeReport& report);

RooflinePicture roofline_picture(const TimeReport& report);
Chart batches_chart(const TimeReport& report);

}  // namespace reckon
