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

// The ranks that exchange data: those that hold alike weights and train on other sequences (data) or on other tokens of
// the same (context), parts of the same matrices (tensor), other experts (expert) or other layers (pipeline).
enum class Group : std::uint8_t { none, data, tensor, expert, context, pipeline };

enum class Logits { all, last, none };

// How attention scores are counted: every one, or only those that causality and windows let through.
enum class Causal { full, exact };

// What training computes again in the backward pass instead of keeping it: nothing; attention's scores, softmax,
// dropout and mixing, where queries, keys and values are kept; or whole blocks.
enum class Recompute : std::uint8_t { none, selective, block };

enum class Optimizer : std::uint8_t { adamw, sgd, adafactor, muon, adam8bit };

// The type of each kind of tensor.
struct Precision {
  DType weights = DType::float32;
  DType activations = DType::float32;
  DType cache = DType::float32;
  DType gradients = DType::float32;
  DType optimizer = DType::float32;
  DType master = DType::float32;  // training: of the wide values behind narrower weights; as these: there are none
};

// How a model is laid out over ranks: each field is a number of ranks that share something out, 1 where nothing is.
// Together they have tensor · context · pipeline · data ranks; the experts' ranks are some of these.
struct Layout {
  std::int64_t tensor = 1;          // matrices, by heads, feed-forward width and vocabulary
  bool sequence = false;            // …and between them the tokens (sequence parallelism of Korthikanti et al. 2022)
  std::int64_t context = 1;         // the tokens of a sequence
  std::int64_t pipeline = 1;        // the layers
  std::int64_t virtual_stages = 1;  // pieces of the stack that a rank has, interleaved
  std::int64_t stage = 0;           // of the pipeline, whose program is meant
  std::int64_t expert = 1;          // the experts of mixtures
  std::int64_t data = 1;            // the sequences: each rank has a batch of its own, and gradients are summed
  // What data · context ranks share out (ZeRO, Rajbhandari et al. 2019): nothing, the optimizer's state, gradients too,
  // weights too.
  std::int64_t zero = 0;
  std::int64_t micro_batches = 1;  // that a step of training goes through one after another
  bool operator==(const Layout&) const = default;
};

// Low-rank adapters (Hu et al. 2021): x·Wᵀ + (x·Aᵀ)·Bᵀ·scale, where W is frozen and A (rank × in), B (out × rank) are
// trained.
struct Lora {
  enum class Targets : std::uint8_t { query_value, all };  // which matrices have them
  std::int64_t rank = 0;                                   // 0: there are none, and all weights are trained
  Targets targets = Targets::query_value;
  bool operator==(const Lora&) const = default;
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
  double dropout = 0;            // training: of the embedding and of what each sublayer adds to the residual stream
  double attention_dropout = 0;  // training: of attention's weights, behind the softmax
  Optimizer optimizer = Optimizer::adamw;
  Lora lora;
  Layout layout;  // batch is that of a rank and micro-batch, tokens are those of a whole sequence
};

// Tokens of a sequence that the cache has room for.
inline std::int64_t capacity(const Workload& workload) {
  return workload.capacity != 0 ? workload.capacity : workload.past + workload.tokens;
}

// The workload of a phase with the usual choices filled in (decode and prefill ask for the last logits only).
Workload workload_of(Phase phase);

}  // namespace reckon
