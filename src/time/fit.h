// What a device must hold of a workload, and the most of it that a device can.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <memory>

#include "lowering/target.h"
#include "memory/plan.h"

namespace reckon {

// Bytes of one rank; in a pipeline of which the workload names no single stage (stage −1), of the fullest.
std::int64_t bytes_needed(const Model& model, const Workload& workload, const Target& target,
                          Places places = Places::all);

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

// What a model takes of this machine to run on the cpu: weights of these types (nullptr: float32), a cache with room
// for so many tokens of one text, and a step of one token.
struct RunOnCpu {
  std::shared_ptr<const ParameterTypes> types;
  std::int64_t tokens = 1;
  DType cache = DType::float32;
  std::int64_t copies = 0;  // bytes that kernels keep beside weights which are not mapped, but reordered when loaded
};
std::int64_t bytes_to_run(const Model& model, const RunOnCpu& run);

// An Error where that, and the `beside` bytes that another model takes, are more than so many bytes of memory: what it
// takes, and in which encoding it would fit.
void check_fits(const Model& model, const RunOnCpu& run, std::int64_t memory, std::int64_t beside = 0);

}  // namespace reckon
