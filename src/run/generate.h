// What is behind reckon/generate.h: drawing token by token (generate.cpp) and beam search (beam_search.cpp).
#pragma once

#include <reckon/generate.h>

#include <chrono>
#include <cstdint>
#include <span>

namespace reckon {

// Throws UsageError where the engine cannot do what is asked, or a field makes no sense.
void validate(const Generation& generation, const Engine& engine, std::span<const std::int32_t> prompt);

// The search of Hugging Face transformers (generation/utils.py, _beam_search). Each step ranks all continuations of all
// running beams by Σ ln p. Of the first `beams` among them, those that end (with one of stop_ids, or as the last token
// that was asked for or that the context has room for) become hypotheses, scored by Σ ln p / n^length_penalty, of which
// the best `beams` are kept; the best `beams` that don't end run on. generation.beam_stop says when the search ends.
// Of equal ones, those of the better beam go first, then the lower id.
//
// Returns up to generation.best continuations, the best first. Where the engine is cancelled, the running beams compete
// too.
Generated beam_search(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation);

// Adds the time that `body` takes to `seconds`, and returns what it returns.
template <class Body>
auto timed(double& seconds, const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = body();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace reckon
