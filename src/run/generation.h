// What is asked of a generation, and what comes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "run/engine.h"
#include "run/logits.h"
#include "run/sampler.h"

namespace reckon {

// When a beam search ends, once it has as many finished hypotheses as beams.
enum class BeamStop {
  full,        // at once
  unlikely,    // when the best running one, scored at its length so far, is no better than the worst finished one
  impossible,  // when no running one can become better than the worst finished one, however it goes on
};

struct Generation {
  Sampling sampling = {};                   // how tokens are drawn; not used by a beam search
  std::int64_t tokens = 128;                // at most this many new ones
  std::vector<std::int32_t> stop_ids = {};  // end of text: each of them ends the continuation and is not part of it

  // 1: draws token by token. More: a beam search, for which the engine needs as many sessions.
  int beams = 1;
  // A hypothesis of n tokens (the end of text counted) scores Σ ln p / n^length_penalty: above 0 favours long ones,
  // below 0 short ones.
  double length_penalty = 1;
  BeamStop beam_stop = BeamStop::unlikely;
  int best = 1;  // how many hypotheses a beam search returns, at most `beams`
  // Whether a beam's continuation ends with its last token, which stays part of it: at a stop string. None: never.
  std::function<bool(std::span<const std::int32_t>)> ends_beam = {};

  // When the cache is full: false ends the generation. True slides: the cache is emptied and filled again from the end
  // of the text, with as much as leaves room for the tokens still wanted, but at least half the capacity. (That many
  // tokens are run anew, and count as prefill.) A prompt that does not fit is cut in the same way. Not for beams.
  bool window = false;

  // More than 0: reports, for each token, its log-probability and those of this many most likely ones, by the model's
  // own distribution: before the repetition penalty, temperature and filters. Not for beams.
  int logprobs = 0;
};

enum class Ending {
  length,       // as many tokens as were asked for
  end_of_text,  // one of stop_ids came
  context,      // the cache is full, and sliding was not asked for
  stopped,      // a callback said so, or the engine was told to stop
};

struct Token {
  std::int32_t id = 0;
  double log_probability = 0;                       // 0 without `logprobs`
  std::vector<TokenProbability> alternatives = {};  // most likely first; empty without `logprobs`
};

struct Continuation {
  std::vector<std::int32_t> ids;  // without the prompt, and without the token that ended it
  Ending ending = Ending::length;
  std::vector<Token> tokens;   // one for each of `ids`, with `logprobs`; else empty
  double log_probability = 0;  // beams: Σ ln p, the end of text included
  double score = 0;            // beams: what they are ranked by
  std::int64_t ran = 0;        // tokens, of the prompt and behind it, that the cache held at the end
};

// Time in the model and in choosing tokens, without that of callbacks.
struct Pace {
  double prefill_seconds = 0, decode_seconds = 0;
  std::int64_t prefill_tokens = 0, decode_tokens = 0;  // that the model ran, of each sequence

  // Adds the time that `body` takes to `seconds`, and returns what it returns.
  template <class Body>
  static auto timed(double& seconds, const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = body();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }
};

struct Generated {
  std::vector<Continuation> continuations;  // one; of a beam search up to `best`, the best first
  Pace pace;
};

using OnToken = std::function<bool(const Token&)>;  // false: stop after this token

// Throws UsageError where the engine cannot do what is asked, or a field makes no sense.
void validate(const Generation& generation, const Engine& engine, std::span<const std::int32_t> prompt);

}  // namespace reckon
