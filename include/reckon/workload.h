// What is asked of a network: the phase, how many tokens, and in which precision.
#pragma once

#include <reckon/dtype.h>
#include <reckon/role.h>

#include <cstdint>
#include <map>
#include <memory>

namespace reckon {

enum class Phase {
  forward,  // all tokens at once, nothing cached
  prefill,  // the same, filling the cache; by default only the last token's logits
  decode,   // new tokens after `past` cached ones
  train,    // forward, loss, backward, AdamW step
};

// The stages of a training step; everything else is all forward.
enum class Stage : std::uint8_t { forward, backward, optimizer };

// The ranks that exchange data: those that train alike copies of a model on other sequences.
enum class Group : std::uint8_t { none, data };

enum class Logits { all, last, none };

// How attention scores are counted: every one, or only those that causality and windows let through.
enum class Causal { full, exact };

// What training computes again in the backward pass instead of keeping it: nothing, attention but for its
// projections, or whole blocks.
enum class Recompute : std::uint8_t { none, attention, block };

// The type of each kind of tensor.
struct Precision {
  DType weights = DType::float32;
  DType activations = DType::float32;
  DType cache = DType::float32;
  DType gradients = DType::float32;
  DType optimizer = DType::float32;
};

// The type of each parameter where not all are of one: as a file stores them.
using ParameterTypes = std::map<TensorKey, DType>;

// Everything that changes what runs.
struct Workload {
  Phase phase = Phase::forward;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;          // new tokens per sequence; 0: the context, or 1 when decoding
  std::int64_t past = -1;           // tokens already in the cache; -1: none, or context − tokens when decoding
  std::int64_t encoder_tokens = 0;  // what cross-attention attends to; 0: as many as `tokens`
  Logits logits = Logits::all;
  Causal causal = Causal::full;
  Precision precision;
  std::shared_ptr<const ParameterTypes> parameter_types;  // go before precision.weights; nullptr: all are of that
  std::int64_t capacity = 0;  // tokens of a sequence that the cache has room for; 0: past + tokens
  std::int64_t chunk = 0;     // the most new tokens at a time, which a windowed cache has room for too; 0: tokens
  Recompute recompute = Recompute::none;
  double dropout = 0;      // training: of the embedding and of what each sublayer adds to the residual stream
  std::int64_t ranks = 1;  // training: processes, each with a batch of its own, that sum their gradients
};

// Tokens of a sequence that the cache has room for.
inline std::int64_t capacity(const Workload& workload) {
  return workload.capacity != 0 ? workload.capacity : workload.past + workload.tokens;
}

// The workload of a phase with the usual choices filled in (decode and prefill ask for the last logits only).
Workload workload_of(Phase phase);

}  // namespace reckon
