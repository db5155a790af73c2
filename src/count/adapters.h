// How many parameters adapters are.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>

namespace reckon {

struct AdapterCount {
  Count adapters;  // elements of all A and B: what is trained
  Count all;       // with the frozen ones
  double share = 0;
};
// None where the workload has no adapters.
std::optional<AdapterCount> count_adapters(const Model& model, const Workload& workload);

}  // namespace reckon
