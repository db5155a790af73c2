// The time of a program by parts of the network.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "program/program.h"
#include "time/roofline.h"

namespace reckon {

// All ops of a part, over all layers.
struct TimeRow {
  std::string name;                  // "query, key, value"
  std::array<double, 3> stages{};    // seconds, by Stage
  std::array<double, 4> bound_by{};  // seconds of ops that are bound so, by Bound
  double flops = 0, bytes = 0;       // of products and element-wise; read and written, as cost rules say
  double sent = 0;                   // bytes to other ranks
  double seconds() const { return stages[0] + stages[1] + stages[2]; }
  double at(Stage stage) const { return stages[static_cast<std::size_t>(stage)]; }
  Bound bound() const;  // what bounds the most of it
};

// In the order in which parts first run, of a step with so many micro-batches: the optimizer's ops and what ranks
// exchange once a step run once, all others for each of them. Parts that take no time are left out.
std::vector<TimeRow> time_rows(const Program& program, const Timing& timing, std::int64_t micro_batches);

}  // namespace reckon
