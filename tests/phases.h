// The phases that a model has: it is trained where nothing in it lacks a backward pass.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <vector>

#include "model/types.h"

namespace reckon {

inline std::vector<Phase> phases_of(const Model& model) {
  std::vector<Phase> phases{Phase::forward, Phase::prefill, Phase::decode};
  if (why_not_trained(model).empty()) phases.push_back(Phase::train);
  return phases;
}

}  // namespace reckon
