#include "time/fit.h"

#include <algorithm>

#include "compile/compile.h"
#include "memory/breakdown.h"

namespace reckon {
namespace {

std::int64_t bytes_of_stage(const Model& model, const Workload& workload, const Target& target) {
  const Compiled compiled = compile(model, workload, target);
  return break_down(compiled.lowered, compiled.plan).total();
}

// Largest value from 1 to `most` that `needed` says fits: it doubles until one does not, then halves what is between.
Largest largest(std::int64_t most, std::int64_t bytes, const std::function<std::int64_t(std::int64_t)>& needed) {
  if (const std::int64_t one = needed(1); one > bytes) return {0, one - bytes, false};
  std::int64_t fits = 1;
  while (fits < most) {
    const std::int64_t next = std::min(most, fits * 2);
    if (needed(next) > bytes) {
      std::int64_t over = next;
      while (over - fits > 1) {
        const std::int64_t middle = fits + (over - fits) / 2;
        (needed(middle) > bytes ? over : fits) = middle;
      }
      return {fits, 0, false};
    }
    fits = next;
  }
  return {fits, 0, true};
}

}  // namespace

std::int64_t fullest_stage(const Model& model, const Workload& asked, const Target& target) {
  Workload workload = asked;
  std::int64_t fullest = 0, most = -1;
  for (std::int64_t stage = 0; stage < asked.layout.pipeline; ++stage) {
    workload.layout.stage = stage;
    const std::int64_t needed = bytes_of_stage(model, workload, target);
    if (needed > most) most = needed, fullest = stage;
  }
  return fullest;
}

std::int64_t bytes_needed(const Model& model, const Workload& asked, const Target& target) {
  Workload workload = asked;
  if (workload.layout.stage < 0) workload.layout.stage = fullest_stage(model, asked, target);
  return bytes_of_stage(model, workload, target);
}

Workload with_context(Workload workload, std::int64_t context) {
  if (workload.phase == Phase::decode || workload.past > 0) {
    workload.tokens = std::clamp<std::int64_t>(workload.tokens, 1, context);
    workload.past = context - workload.tokens;
  } else {
    workload.tokens = context;
  }
  workload.capacity = workload.chunk = 0;
  return workload;
}

Largest largest_batch(const Model& model, const Workload& asked, const Target& target, std::int64_t bytes) {
  Workload workload = asked;
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return largest(most, bytes, [&](std::int64_t batch) {
    workload.batch = batch;
    return bytes_needed(model, workload, target);
  });
}

Largest largest_context(const Model& model, const Workload& asked, const Target& target, std::int64_t bytes) {
  // Learned positions end; others are computed.
  const bool learned = model.positions.kind == Positions::Kind::learned;
  const std::int64_t most = learned ? model.context : std::int64_t{1} << 30;
  // Ranks that share tokens out have as many each.
  const Layout& layout = asked.layout;
  const std::int64_t unit = layout.context * (layout.sequence ? layout.tensor : 1);
  Largest found = largest(most / unit, bytes, [&](std::int64_t units) {
    return bytes_needed(model, with_context(asked, units * unit), target);
  });
  found.value *= unit;
  return found;
}

}  // namespace reckon
