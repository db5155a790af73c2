// The layouts of a number of devices that divide a model and a step's sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "time/search.h"

namespace reckon {

std::vector<std::int64_t> divisors(std::int64_t n);

// Whether matrices, layers and experts are split alike: such layouts are told as one, the best of them.
bool alike(const Layout& a, const Layout& b);

// Whether the micro-batches of a step come in whole rounds of all stages, as interleaved pieces of a pipeline take them
// (Narayanan et al. 2021, section 2.2): one comes back to a stage when it has been to all of them.
inline bool in_whole_rounds(const Layout& layout) {
  return layout.virtual_stages == 1 || layout.micro_batches % layout.pipeline == 0;
}

// Workloads of a rank, one for each split of the devices into tensor · context · pipeline · data ranks with those of
// experts among them (of one piece a stage, without ZeRO, one micro-batch), with tensor ranks up to `most_tensor`.
// Where some are left out because the model has an operation that cannot be shared out so, `left_out` says which; where
// none is left of those that were given, that is thrown.
std::vector<Workload> splits_of(const Search& search, std::int64_t most_tensor, std::string& left_out);

// The most of ZeRO that data · context ranks can share out: muon steps whole matrices, so that none of its state is.
std::int64_t most_zero(const Workload& workload);

// All ways to train with a split: micro-batches, what is computed again, virtual stages and what data · context ranks
// share out.
std::vector<Workload> ways_of(const Search& search, const Workload& split);

}  // namespace reckon
