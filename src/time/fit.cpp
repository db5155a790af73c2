#include "time/fit.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <functional>

#include "compile/compile.h"
#include "files/checked.h"
#include "files/encoding.h"
#include "files/numbers.h"
#include "memory/breakdown.h"
#include "network/parameter_types.h"
#include "time/step.h"

namespace reckon {
namespace {

std::int64_t bytes_of_stage(const Model& model, const Workload& workload, const Target& target, Places places) {
  const Compiled compiled = compile(model, workload, target, places);
  return break_down(compiled.lowered, compiled.plan).total();
}

struct Fullest {
  std::int64_t stage = 0, bytes = -1;
};

Fullest fullest_of(const Model& model, const Workload& asked, const Target& target, Places places) {
  Workload workload = asked;
  Fullest fullest;
  for (const StageKind& kind : different_stages(model, asked.layout)) {
    workload.layout.stage = kind.stage;
    const std::int64_t bytes = bytes_of_stage(model, workload, target, places);
    if (bytes > fullest.bytes) fullest = {kind.stage, bytes};
  }
  return fullest;
}

using Needed = std::function<std::int64_t(std::int64_t)>;

// Largest value from 1 to `most` that `needed` says fits: it doubles until one does not, then halves what is between.
// What is past all numbers ends the search as `most` does.
Largest search(std::int64_t most, std::int64_t bytes, const Needed& needed) {
  bool past_numbers = false;
  const auto fits_in = [&](std::int64_t value) {
    try {
      past_numbers = false;
      return needed(value) <= bytes;
    } catch (const Overflow&) {
      past_numbers = true;
      return false;
    }
  };
  if (const std::int64_t one = needed(1); one > bytes) return {0, one - bytes, false};
  std::int64_t fits = 1;
  while (fits < most) {
    const std::int64_t next = std::min(most, fits * 2);
    if (!fits_in(next)) {
      std::int64_t over = next;
      bool all = past_numbers;
      while (over - fits > 1) {
        const std::int64_t middle = fits + (over - fits) / 2;
        if (fits_in(middle)) {
          fits = middle;
        } else {
          over = middle;
          all = past_numbers;
        }
      }
      return {fits, 0, all};
    }
    fits = next;
  }
  return {fits, 0, true};
}

// By peaks first: an arena is its peak or a little more, and to lay it out takes far longer where it is not its peak.
Largest largest(std::int64_t most, std::int64_t bytes,
                const std::function<std::int64_t(std::int64_t, Places)>& needed) {
  const Needed laid_out = [&](std::int64_t value) { return needed(value, Places::all); };
  const Largest by_peaks = search(most, bytes, [&](std::int64_t value) { return needed(value, Places::none); });
  if (by_peaks.value > 0 && laid_out(by_peaks.value) <= bytes) return by_peaks;
  Largest found = search(std::max<std::int64_t>(1, by_peaks.value - 1), bytes, laid_out);
  found.all = false;
  return found;
}

}  // namespace

std::int64_t fullest_stage(const Model& model, const Workload& asked, const Target& target) {
  return fullest_of(model, asked, target, Places::all).stage;
}

std::int64_t bytes_needed(const Model& model, const Workload& workload, const Target& target, Places places) {
  return workload.layout.stage < 0 ? fullest_of(model, workload, target, places).bytes
                                   : bytes_of_stage(model, workload, target, places);
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
  return largest(most, bytes, [&](std::int64_t batch, Places places) {
    workload.batch = batch;
    return bytes_needed(model, workload, target, places);
  });
}

Largest largest_context(const Model& model, const Workload& asked, const Target& target, std::int64_t bytes) {
  // Learned positions end; others are computed.
  const bool learned = model.positions.kind == Positions::Kind::learned;
  const std::int64_t most = learned ? model.context : std::int64_t{1} << 30;
  // Ranks that share tokens out have as many each, context ranks in two pieces.
  const Layout& layout = asked.layout;
  const std::int64_t unit = (layout.context > 1 ? 2 * layout.context : 1) * (layout.sequence ? layout.tensor : 1);
  Largest found = largest(most / unit, bytes, [&](std::int64_t units, Places places) {
    return bytes_needed(model, with_context(asked, units * unit), target, places);
  });
  found.value *= unit;
  return found;
}

std::int64_t bytes_to_run(const Model& model, const RunOnCpu& run) {
  Workload workload = workload_of(Phase::decode);
  workload.tokens = 1;
  workload.past = workload.capacity = std::max<std::int64_t>(1, run.tokens);
  workload.past -= 1;
  workload.precision.cache = run.cache;
  workload.parameter_types = run.types;
  return checked_add(bytes_needed(model, workload, cpu_target), run.copies, "the memory that running takes");
}

void check_fits(const Model& model, const RunOnCpu& run, std::int64_t all, std::int64_t beside) {
  const std::int64_t needed = bytes_to_run(model, run), memory = std::max<std::int64_t>(0, all - beside);
  if (needed <= memory) return;
  constexpr DType smaller[] = {DType::bfloat16, DType::q8_0, DType::q6_k, DType::q5_k,
                               DType::q4_k,     DType::q3_k, DType::q2_k};
  RunOnCpu other = run;
  other.copies = 0;
  std::string advice;
  for (const DType encoding : smaller) {
    other.types = quantised_as(model, encoding);
    const std::int64_t bytes = bytes_to_run(model, other);
    const std::string_view name = encoding_of(encoding).name;
    if (bytes <= memory) {
      advice = fmt::format("in {} it would take {}", name, binary_bytes(bytes));
      break;
    }
    advice = fmt::format("even in {} it would take {}", name, binary_bytes(bytes));
  }
  throw Error(fmt::format("{} takes {} of memory with a context of {}, but there are {} left{}; {}", model.name,
                          binary_bytes(needed), grouped(run.tokens), binary_bytes(memory),
                          beside > 0 ? fmt::format(" beside the {} of the other model", binary_bytes(beside)) : "",
                          advice));
}

}  // namespace reckon
