// From how far a processor's ops get their bytes: what was gone through since a tensor was last touched has pushed it
// out of all caches that are smaller. What outlives a run (weights, caches, moments) was last touched in the run before
// it; everything else by an earlier op.
#pragma once

#include <vector>

#include "program/program.h"

namespace reckon {

struct Traffic {
  double bytes = 0;
  double distance = 0;     // bytes that were gone through since the same memory was touched
  bool in_place = false;   // written where the op itself has read
  bool parameter = false;  // of one
};

struct OpTraffic {
  std::vector<Traffic> read, written;
};

// Of each op of a folded or expanded program, on average over the iterations of its body.
std::vector<OpTraffic> traffic_of(const Program& program);

}  // namespace reckon
