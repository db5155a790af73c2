#include "page/sampling.h"

#include "run/sampler.h"

namespace reckon::page {

Sampling sampling_of(const Fields& fields) {
  Sampling sampling;
  if (!fields.has("sampling")) return sampling;
  const Fields given(fields.object("sampling"), "sampling");
  given.expect({"repetition_penalty", "temperature", "top_k", "top_p", "min_p", "seed"});
  sampling.repetition_penalty = given.number("repetition_penalty", sampling.repetition_penalty);
  sampling.temperature = given.number("temperature", sampling.temperature);
  sampling.top_k = given.whole("top_k", 0, Fields::any, sampling.top_k);
  sampling.top_p = given.number("top_p", sampling.top_p);
  sampling.min_p = given.number("min_p", sampling.min_p);
  sampling.seed = static_cast<std::uint64_t>(given.whole("seed", 0, Fields::any, 0));
  validate(sampling);
  return sampling;
}

}  // namespace reckon::page
