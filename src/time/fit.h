// What a device must hold of a workload, and the most of it that a device can.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <functional>

#include "lowering/target.h"

namespace reckon {

// Bytes of one rank; in a pipeline of which the workload names no single stage (stage −1), of the fullest.
std::int64_t bytes_needed(const Model& model, const Workload& workload, const Target& target);

// Of a pipeline the stage that needs the most.
std::int64_t fullest_stage(const Model& model, const Workload& workload, const Target& target);

struct Largest {
  std::int64_t value = 0;  // 0: not even the least fits
  std::int64_t over = 0;   // then: by so many bytes
  bool all = false;        // the most that may be asked for fits
};

// The largest batch, other sizes as they are, and the longest sequence: tokens of a forward pass, or when decoding the
// length of the cache with the new token. Memory grows with both.
Largest largest_batch(const Model& model, const Workload& workload, const Target& target, std::int64_t bytes);
Largest largest_context(const Model& model, const Workload& workload, const Target& target, std::int64_t bytes);

// The workload with another length of its sequences: of the cache, where there is something in it, else as many tokens.
Workload with_context(Workload workload, std::int64_t context);

}  // namespace reckon
