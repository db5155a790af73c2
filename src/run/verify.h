// Predicted beside measured: a prefill and some decode steps with the counters on.
#pragma once

#include <reckon/count.h>
#include <reckon/model.h>

#include "run/engine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

// One quantity: what the mathematics asks for, what the backend's program says, what the kernels did.
struct Check {
  std::string name;
  std::string unit;
  std::optional<Count> headline;
  Count lowered;
  Count measured;
  bool equal() const { return lowered == measured; }
};

// Why the lowered program does less (or more) than the headline: one line per component that differs.
struct Difference {
  std::string phase, component, reason;
  Count headline, lowered;
};

struct Verification {
  std::vector<Check> checks;
  std::vector<Difference> differences;
  std::int64_t prefill_tokens = 0, decode_tokens = 0;  // per sequence
  double prefill_seconds = 0, decode_seconds = 0;
  std::int64_t scratch_bytes = 0, peak_rss = 0;  // listed apart: never claimed equal
  bool holds() const;
};

struct VerifyOptions {
  std::int64_t tokens = 0;  // of the prompt; 0: half the context, at most 512
  std::int64_t steps = 8;   // of decoding
  std::int64_t batch = 1;
  int threads = 0;
  std::uint64_t seed = 1;                     // of the ids
  const std::atomic<bool>* cancel = nullptr;  // the engine's
};

Verification verify(const Model& model, Weights weights, const VerifyOptions& options);

}  // namespace reckon
