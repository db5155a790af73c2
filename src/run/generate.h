// The loop that continues a prompt.
#pragma once

#include "run/generation.h"

namespace reckon {

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
