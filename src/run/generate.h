// What is behind reckon/generate.h: drawing token by token (generate.cpp) and beam search (beam_search.cpp).
#pragma once

#include <reckon/generate.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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
// too. `tree` is given what was kept on the way; nullptr: nobody looks.
struct BeamNode {
  std::int64_t parent = -1;  // its place among the nodes; -1: it follows the prompt
  std::int64_t depth = 0;    // of its token in the continuation
  std::int32_t id = 0;
  double log_probability = 0;   // of this token
  double sum = 0;               // …and of all from the prompt to it
  std::optional<double> score;  // of a hypothesis that ends here
};
struct BeamTree {
  std::vector<BeamNode> nodes;     // step after step
  std::vector<std::int64_t> best;  // where each of the continuations that came back ends
};
Generated beam_search(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                      BeamTree* tree = nullptr);

// Adds the time that `body` takes to `seconds`, and returns what it returns.
template <class Body>
auto timed(double& seconds, const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = body();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace reckon
