// What generating has in common, whatever draws the tokens.
#pragma once

#include <reckon/generate.h>

#include <chrono>
#include <cstdint>
#include <span>

namespace reckon {

// Throws UsageError where the engine cannot do what is asked, or a field makes no sense.
void validate(const Generation& generation, const Engine& engine, std::span<const std::int32_t> prompt);

// Adds the time that `body` takes to `seconds`, and returns what it returns.
template <class Body>
auto timed(double& seconds, const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = body();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace reckon
