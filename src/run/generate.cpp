// Prefill once, then a token at a time, of all texts together; again from the end of a text where its window slides.
#include "run/generate.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "run/logits.h"
#include "run/sampler.h"

namespace reckon {
namespace {

Token token_of(std::int32_t id, std::span<const float> logits, int logprobs, std::vector<Ranked>& best) {
  Token token{.id = id};
  if (logprobs == 0) return token;
  const double total = log_sum_exp(logits);
  token.log_probability = static_cast<double>(logits[static_cast<std::size_t>(id)]) - total;
  best_tokens(logits, logprobs, best);
  for (const Ranked& other : best) token.alternatives.push_back({other.id, static_cast<double>(other.score) - total});
  return token;
}

// A text that is being continued.
class Writing {
 public:
  Writing(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation, const OnToken& on_token)
      : generation_(generation),
        on_token_(on_token),
        capacity_(engine.options().capacity),
        session_(engine.session()),
        sampler_(generation.sampling, engine.model().vocab_size),
        ids_(prompt.begin(), prompt.end()),
        prompt_(prompt.size()),
        wanted_(generation.tokens) {
    ids_.reserve(prompt.size() + static_cast<std::size_t>(generation.tokens));
  }

  Session& session() { return session_; }

  // What is to be run next; nothing where the text has come to its end.
  std::span<const std::int32_t> fresh() {
    if (wanted_ == 0 || ended_) return {};
    if (length() - first_ > capacity_) {
      if (!generation_.window) {
        end(Ending::context);
        return {};
      }
      slide();
    }
    if (session_.outgrown(length() - first_)) session_.reset();
    return std::span<const std::int32_t>(ids_).subspan(static_cast<std::size_t>(first_ + session_.length()));
  }

  // Chooses a token from the logits that came of it.
  void take(std::span<const float> logits) {
    --wanted_;
    const std::int32_t id = sampler_.next(logits, ids_);
    if (std::find(generation_.stop_ids.begin(), generation_.stop_ids.end(), id) != generation_.stop_ids.end())
      return end(Ending::end_of_text);
    ids_.push_back(id);
    token_ = token_of(id, logits, generation_.logprobs, best_);
  }

  // Tells of the token that was taken. Apart from taking it, whose time is the model's.
  void tell() {
    if (ended_ || !token_) return;
    const bool stopped = on_token_ && !on_token_(*token_);
    if (generation_.logprobs > 0) continuation_.tokens.push_back(std::move(*token_));
    token_.reset();
    if (stopped) end(Ending::stopped);
  }

  void end(Ending ending) {
    continuation_.ending = ending;
    ended_ = true;
  }

  Continuation finish() {
    continuation_.ids.assign(ids_.begin() + static_cast<std::ptrdiff_t>(prompt_), ids_.end());
    continuation_.ran = session_.length();
    session_.reset();
    return std::move(continuation_);
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(ids_.size()); }

  // Empties the cache and begins again within the text. Of the tokens to come the last is not run, so the others need
  // room.
  void slide() {
    const std::int64_t half = std::max<std::int64_t>(capacity_ / 2, 1);
    first_ = length() - std::max(capacity_ - (wanted_ - 1), half);
    session_.reset();
  }

  const Generation& generation_;
  const OnToken& on_token_;
  std::int64_t capacity_;
  Session session_;
  Sampler sampler_;
  std::vector<std::int32_t> ids_;
  std::size_t prompt_;
  std::int64_t first_ = 0;  // where what is cached begins
  std::int64_t wanted_;     // tokens to come
  bool ended_ = false;
  std::optional<Token> token_;
  std::vector<Ranked> best_;
  Continuation continuation_;
};

// One step of all of `writings` that have something to run; false: none has.
bool step(Engine& engine, std::span<const std::unique_ptr<Writing>> writings, Pace& pace) {
  std::vector<Engine::Part> prompts, tokens;
  std::vector<Writing*> of_prompts, of_tokens;
  for (const auto& writing : writings) {
    const std::span<const std::int32_t> fresh = writing->fresh();
    if (fresh.empty()) continue;
    const bool decode = writing->session().length() > 0;
    (decode ? tokens : prompts).push_back({writing->session(), fresh});
    (decode ? of_tokens : of_prompts).push_back(writing.get());
  }
  const auto vocabulary = static_cast<std::size_t>(engine.model().vocab_size);
  const auto run = [&](std::span<const Engine::Part> parts, std::span<Writing* const> of, double& seconds,
                       std::int64_t& ran) {
    if (parts.empty()) return;
    const std::span<const float> logits = timed(seconds, [&] { return engine.step(parts); });
    for (const Engine::Part& part : parts) ran += std::ssize(part.ids);
    timed(pace.decode_seconds, [&] {
      for (std::size_t i = 0; i < of.size(); ++i) of[i]->take(logits.subspan(i * vocabulary, vocabulary));
      return 0;
    });
    for (Writing* writing : of) writing->tell();
  };
  run(tokens, of_tokens, pace.decode_seconds, pace.decode_tokens);
  run(prompts, of_prompts, pace.prefill_seconds, pace.prefill_tokens);
  return !prompts.empty() || !tokens.empty();
}

}  // namespace

std::vector<Continuation> generate(Engine& engine, std::span<const std::vector<std::int32_t>> prompts,
                                   const Generation& generation, const OnTokenOf& on_token, Pace& pace) {
  std::vector<Continuation> done(prompts.size());
  std::vector<OnToken> callbacks(prompts.size());
  std::vector<std::unique_ptr<Writing>> writings;  // as many as there is room for
  std::vector<std::size_t> of;                     // their prompts
  std::size_t next = 0;
  bool cancelled = false;
  while (!cancelled && (next < prompts.size() || !writings.empty())) {
    while (next < prompts.size() && std::ssize(writings) < engine.options().sessions) {
      validate(generation, engine, prompts[next]);
      if (on_token) callbacks[next] = [&on_token, next](const Token& token) { return on_token(next, token); };
      writings.push_back(std::make_unique<Writing>(engine, prompts[next], generation, callbacks[next]));
      of.push_back(next++);
    }
    try {
      step(engine, writings, pace);
    } catch (const Cancelled&) {
      cancelled = true;
    }
    for (std::size_t i = 0; i < writings.size();) {
      if (cancelled) writings[i]->end(Ending::stopped);
      if (!cancelled && !writings[i]->fresh().empty()) {
        ++i;
        continue;
      }
      done[of[i]] = writings[i]->finish();
      writings.erase(writings.begin() + static_cast<std::ptrdiff_t>(i));
      of.erase(of.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (; next < prompts.size(); ++next) done[next].ending = Ending::stopped;
  return done;
}

Generated generate(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                   const OnToken& on_token) {
  validate(generation, engine, prompt);
  if (generation.beams == 1) {
    Generated result;
    const std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
    OnTokenOf told;
    if (on_token) told = [&](std::size_t, const Token& token) { return on_token(token); };
    result.continuations = generate(engine, {&ids, 1}, generation, told, result.pace);
    return result;
  }
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
