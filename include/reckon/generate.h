// Continuing texts: how tokens are drawn, how long, and what comes back.
#pragma once

#include <reckon/run.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reckon {

// The filters in the order in which they work, which is that of Hugging Face transformers
// (generation/logits_process.py) and with its meaning at the borders. At least one token, the most likely, is always
// left. With "ranks before" is meant: more likely or, of equally likely ones, with the lower id (transformers leaves
// the order of those open).
struct Sampling {
  // Over 1 makes less likely what has been in the text (the prompt included): the logit of each token that has
  // occurred, once or often, is divided by it where positive and multiplied where negative. Below 1 makes it likelier.
  // 1: off. Above 0. (Keskar et al. 2019)
  double repetition_penalty = 1;

  // Logits are divided by it. 0: greedy, the token with the highest logit, of equal ones the lowest id; nothing is
  // drawn and the filters below have no effect. 1: the model's own distribution.
  double temperature = 1;

  // Leaves the k most likely, and those as likely as the last of them. 0: off.
  std::int64_t top_k = 0;

  // Leaves a token while those that rank before it have less than this probability together: the fewest tokens that
  // reach it. Probabilities are those after top_k. In (0, 1]; 1: off. (Holtzman et al. 2019)
  double top_p = 1;

  // Leaves what is at least this many times as likely as the most likely token. In [0, 1]; 0: off. (Nguyen et al. 2024)
  double min_p = 0;

  // The same seed, logits and calls give the same tokens on every platform.
  std::uint64_t seed = 0;
};

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

// A token and how likely it is, in nats: ln p ≤ 0.
struct TokenProbability {
  std::int32_t id;
  double log_probability;
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
};

struct Generated {
  std::vector<Continuation> continuations;  // one; of a beam search up to `best`, the best first
  Pace pace;
};

using OnToken = std::function<bool(const Token&)>;  // false: stop after this token

// Continues `prompt`, from an empty cache. `on_token` may be empty; it is called for each new token, not for the one
// that ends the text, and stops the generation by returning false: for stop strings. A beam search knows its tokens
// only at its end and calls `on_token` then, for those of the best hypothesis, which it can cut short.
// Where the engine is cancelled the generation ends with what there is.
Generated generate(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                   const OnToken& on_token = {});

// The same for several prompts, which take their steps together, as many at a time as the engine has sessions: each
// gets the tokens that it would get alone. Not for beams. `on_token` is told whose token it is.
using OnTokenOf = std::function<bool(std::size_t prompt, const Token&)>;
std::vector<Continuation> generate(Engine& engine, std::span<const std::vector<std::int32_t>> prompts,
                                   const Generation& generation, const OnTokenOf& on_token, Pace& pace);

}  // namespace reckon
