// What can be asked of an engine.
#include "run/generate.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "files/numbers.h"
#include "run/sampler.h"

namespace reckon {
namespace {

void validate_beams(const Generation& generation) {
  if (generation.beams == 1) return;
  if (generation.window)
    throw UsageError("a beam search cannot slide its window; expected 1 for `beams`, or no `window`");
  if (generation.logprobs > 0)
    throw UsageError("a beam search reports no logprobs; expected 1 for `beams`, or 0 for `logprobs`");
  // A filter that would silently do nothing is a mistake of the caller's. (Temperature 0 and 1 are what "no sampling"
  // looks like.)
  const Sampling& sampling = generation.sampling;
  std::vector<std::string> idle;
  if (sampling.temperature != 0 && sampling.temperature != 1) idle.emplace_back("`temperature`");
  if (sampling.top_k != 0) idle.emplace_back("`top_k`");
  if (sampling.top_p != 1) idle.emplace_back("`top_p`");
  if (sampling.min_p != 0) idle.emplace_back("`min_p`");
  if (sampling.repetition_penalty != 1) idle.emplace_back("`repetition_penalty`");
  if (!idle.empty()) {
    throw UsageError(fmt::format("a beam search draws nothing, so that {} {} no meaning with {} beams",
                                 fmt::join(idle, ", "), idle.size() == 1 ? "has" : "have", grouped(generation.beams)));
  }
}

}  // namespace

void validate(const Generation& generation, const Engine& engine, std::span<const std::int32_t> prompt) {
  validate(generation.sampling);
  const auto at_least = [](const char* field, std::int64_t found, std::int64_t least) {
    if (found < least) throw UsageError(fmt::format("`{}` is {}; expected at least {}", field, found, least));
  };
  at_least("tokens", generation.tokens, 1);
  at_least("beams", generation.beams, 1);
  at_least("best", generation.best, 1);
  at_least("logprobs", generation.logprobs, 0);
  if (generation.best > generation.beams) {
    throw UsageError(
        fmt::format("`best` is {}; expected at most the number of beams, {}", generation.best, generation.beams));
  }
  if (!std::isfinite(generation.length_penalty)) {
    throw UsageError(fmt::format("`length_penalty` is {}; expected a finite number", generation.length_penalty));
  }
  validate_beams(generation);
  if (engine.options().sessions < generation.beams) {
    throw UsageError(fmt::format("an engine with room for {} sessions cannot follow {} beams; expected as many",
                                 engine.options().sessions, generation.beams));
  }
  if (prompt.empty()) throw UsageError("the prompt is empty; expected at least one token");
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length > engine.options().capacity && !generation.window) {
    throw UsageError(fmt::format("the prompt has {} tokens and the context {}; shorten it, or let the window slide",
                                 grouped(length), grouped(engine.options().capacity)));
  }
}

}  // namespace reckon
