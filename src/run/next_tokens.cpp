#include "run/next_tokens.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cmath>

namespace reckon {

void validate_draw(double u) {
  if (!(u >= 0 && u < 1)) throw UsageError(fmt::format("`u` is {}; expected 0 or more, below 1", u));
}

NextTokens next_tokens(std::span<const float> logits, std::span<const std::int32_t> history, const Sampling& sampling,
                       std::int64_t count, std::optional<double> u) {
  if (u) validate_draw(*u);
  Sampler sampler(sampling, std::ssize(logits));
  const std::vector<Chance> chances = sampler.chances(logits, history);
  const double total = log_sum_exp(logits);
  const auto token = [&](std::int32_t id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    return NextToken{id, logit, std::exp(static_cast<double>(logit) - total), chances[static_cast<std::size_t>(id)]};
  };
  NextTokens next;
  std::vector<Ranked> best;
  best_tokens(logits, count, best);
  std::vector<bool> alone(logits.size(), false);
  for (const Ranked& one : best) {
    next.tokens.push_back(token(one.id));
    alone[static_cast<std::size_t>(one.id)] = true;
  }
  next.rest.count = std::ssize(logits) - std::ssize(best);
  for (std::size_t id = 0; id < chances.size(); ++id) {
    const bool stays = chances[id].removed == Filter::none;
    next.kept += stays ? 1 : 0;
    if (alone[id]) continue;
    next.rest.kept += stays ? 1 : 0;
    next.rest.model_probability += token(static_cast<std::int32_t>(id)).model_probability;
    next.rest.probability += chances[id].probability;
  }
  if (u) next.draw = token(sampler.draw(*u));
  return next;
}

const char* name_of(Filter filter) {
  switch (filter) {
    case Filter::greedy:
      return "greedy";
    case Filter::top_k:
      return "top_k";
    case Filter::top_p:
      return "top_p";
    case Filter::min_p:
      return "min_p";
    case Filter::none:
      break;
  }
  return nullptr;
}

}  // namespace reckon
