// The time of a program by parts of the network.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "program/program.h"
#include "time/roofline.h"
#include "time/step.h"

namespace reckon {

// All ops of a part, over all layers.
struct TimeRow {
  std::string name;                                  // "query, key, value"
  std::array<double, 3> stages{};                    // seconds, by Stage
  double bubble = 0;                                 // …and of none: waiting for the pipeline
  std::array<double, std::size(bounds)> bound_by{};  // seconds of ops that are bound so, by Bound
  double flops = 0, bytes = 0;  // of products and element-wise; read and written, as cost rules say
  double sent = 0;              // bytes to other ranks
  double seconds() const { return stages[0] + stages[1] + stages[2] + bubble; }
  double at(Stage stage) const { return stages[static_cast<std::size_t>(stage)]; }
  Bound bound() const;  // what bounds the most of it
};

// In the order in which parts first run, of a step: the optimizer's ops run once, all others for each micro-batch. What
// ranks exchange takes what the step waits for it. Parts that take no time are left out; the last is the bubble.
std::vector<TimeRow> time_rows(const Program& program, const Timing& timing, const Step& step);

}  // namespace reckon
