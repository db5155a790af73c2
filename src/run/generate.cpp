// Prefill once, then a token at a time; again from the end of the text where the window slides.
#include "run/generate.h"

#include <algorithm>

#include "run/beam.h"

namespace reckon {
namespace {

Token describe(std::int32_t id, std::span<const float> logits, int logprobs, std::vector<Ranked>& best) {
  Token token{.id = id};
  if (logprobs == 0) return token;
  const double total = log_sum_exp(logits);
  token.log_probability = static_cast<double>(logits[static_cast<std::size_t>(id)]) - total;
  best_tokens(logits, logprobs, best);
  for (const Ranked& other : best) token.alternatives.push_back({other.id, static_cast<double>(other.score) - total});
  return token;
}

// The cache and the text that it holds the end of.
class Text {
 public:
  Text(Engine& engine, std::span<const std::int32_t> prompt, Pace& pace)
      : engine_(engine), pace_(pace), ids_(prompt.begin(), prompt.end()) {
    ids_.reserve(prompt.size() + static_cast<std::size_t>(engine.options().capacity));
    engine.reset();
  }

  const std::vector<std::int32_t>& ids() const { return ids_; }
  void append(std::int32_t id) { ids_.push_back(id); }

  // Whether what has not been run yet has room behind what has.
  bool fits() const { return length() - first_ <= engine_.options().capacity; }

  // Runs what has not been run yet; returns the logits of the token to come.
  std::span<const float> run() {
    if (engine_.outgrown(length() - first_)) engine_.reset();
    const bool decode = engine_.past() > 0;
    const auto fresh = std::span<const std::int32_t>(ids_).subspan(static_cast<std::size_t>(first_ + engine_.past()));
    const std::span<const float> logits = Pace::timed(decode ? pace_.decode_seconds : pace_.prefill_seconds,
                                                      [&] { return engine_.run(fresh, Logits::last); });
    (decode ? pace_.decode_tokens : pace_.prefill_tokens) += static_cast<std::int64_t>(fresh.size());
    return logits;
  }

  // Empties the cache and begins again within the text. Of `wanted` tokens to come the last is not run, so the others
  // need room.
  void slide(std::int64_t wanted) {
    const std::int64_t capacity = engine_.options().capacity;
    const std::int64_t half = std::max<std::int64_t>(capacity / 2, 1);
    first_ = length() - std::max(capacity - (wanted - 1), half);
    engine_.reset();
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(ids_.size()); }

  Engine& engine_;
  Pace& pace_;
  std::vector<std::int32_t> ids_;
  std::int64_t first_ = 0;  // where the cache begins
};

Generated sample(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                 const OnToken& on_token) {
  Generated result;
  Continuation continuation;
  Sampler sampler(generation.sampling, engine.model().vocab_size);
  std::vector<Ranked> best;
  Text text(engine, prompt, result.pace);
  for (std::int64_t wanted = generation.tokens; wanted > 0; --wanted) {
    if (!text.fits() && !generation.window) {
      continuation.ending = Ending::context;
      break;
    }
    if (!text.fits()) text.slide(wanted);
    std::span<const float> logits;
    try {
      logits = text.run();
    } catch (const Cancelled&) {
      continuation.ending = Ending::stopped;
      break;
    }
    const std::int32_t id = Pace::timed(result.pace.decode_seconds, [&] { return sampler.next(logits, text.ids()); });
    if (std::find(generation.stop_ids.begin(), generation.stop_ids.end(), id) != generation.stop_ids.end()) {
      continuation.ending = Ending::end_of_text;
      break;
    }
    text.append(id);
    Token token = describe(id, logits, generation.logprobs, best);
    const bool stopped = on_token && !on_token(token);
    if (generation.logprobs > 0) continuation.tokens.push_back(std::move(token));
    if (stopped) {
      continuation.ending = Ending::stopped;
      break;
    }
  }
  continuation.ids.assign(text.ids().begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.ids().end());
  result.continuations.push_back(std::move(continuation));
  return result;
}

}  // namespace

Generated generate(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                   const OnToken& on_token) {
  validate(generation, engine, prompt);
  if (generation.beams == 1) return sample(engine, prompt, generation, on_token);
  Generated result = beam_search(engine, prompt, generation);
  Continuation& best = result.continuations.front();
  for (std::size_t i = 0; on_token && i < best.ids.size(); ++i) {
    if (on_token({.id = best.ids[i]})) continue;
    best.ids.resize(i + 1);
    best.ending = Ending::stopped;
  }
  return result;
}

}  // namespace reckon
