// A model ready to run: its weights, its caches, and a program for each length of input that it meets.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "backend/cpu/counters.h"
#include "backend/cpu/scratch.h"
#include "run/executor.h"
#include "run/profile.h"
#include "run/weights.h"
#include "threads/pool.h"

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reckon {

struct EngineOptions {
  int threads = 0;            // 0: as many as thread_count() says
  std::int64_t batch = 1;     // sequences side by side, all of one length
  std::int64_t capacity = 0;  // tokens that the cache has room for; 0: the model's context
  std::int64_t chunk = 512;   // a longer input runs in pieces of this many tokens
  // Set by another thread or a signal handler: run() throws Cancelled within milliseconds. nullptr: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
  Inspection* inspection = nullptr;  // looks on; nullptr: nobody does
};

class Engine {
 public:
  Engine(Model model, Weights weights, const EngineOptions& options);

  // Runs `ids` (batch × tokens) after what is in the cache and keeps them there. Returns the logits asked for:
  // batch × tokens × V, or batch × V. They stay until the next run. Of a run that is cancelled the cache keeps the
  // pieces that were done, as past() says.
  std::span<const float> run(std::span<const std::int32_t> ids, Logits logits);

  // With an empty cache: runs `ids` as the beginning of every sequence of the batch, at the cost of one. Returns the
  // logits of one.
  std::span<const float> run_shared(std::span<const std::int32_t> ids, Logits logits);

  // Empties the cache. `length`: how long the text to come will be, where that is known before all of it is run; some
  // kinds of rotary positions depend on it.
  void reset(std::int64_t length = 0) {
    past_ = 0;
    length_ = length;
  }

  // Whether a text that grows to `length` rotates its beginning otherwise than is cached, and has to be run anew:
  // LongRoPE beyond its original context. (Under dynamic NTK, where every further token changes the base, what is
  // cached stays. transformers does both in the same way.)
  bool outgrown(std::int64_t length) const;

  void reorder(std::span<const int> sources);  // sequence b goes on from what sequence sources[b] has cached
  std::int64_t past() const { return past_; }

  const Model& model() const { return model_; }
  const Weights& weights() const { return weights_; }
  const EngineOptions& options() const { return options_; }
  Counters& counters() { return counters_; }
  Machine& machine() { return machine_; }
  void set_profile(Profile* profile) { profile_ = profile; }

  // The program that runs `tokens` tokens, lowered, and where its memory lies.
  const Executor& executor(std::int64_t tokens, Logits logits) { return prepare({options_.batch, tokens, logits}); }
  std::int64_t cache_bytes() const;

 private:
  // What a program is written for.
  struct Form {
    std::int64_t batch, tokens;
    Logits logits;
    auto operator<=>(const Form&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
  };

  std::span<const float> run(std::span<const std::int32_t> ids, std::int64_t batch, Logits logits);
  std::span<const float> run_chunk(std::span<const std::int32_t> ids, const Form& form, std::int64_t length);
  Executor& prepare(Form form);
  void renew_rope(std::int64_t tokens, std::int64_t length);
  std::byte* resident(const Program& program, TensorId id);
  void fill_inputs(const Executor& executor, std::span<const std::int32_t> ids, std::int64_t tokens);
  Compiled compiled(const Form& form) const;

  struct CacheSize {
    std::int64_t positions, heads;
  };

  Model model_;
  std::vector<Rope> ropes_;
  Weights weights_;
  std::shared_ptr<const ParameterTypes> parameter_types_;
  EngineOptions options_;
  Pool pool_;
  Scratch scratch_;
  Counters counters_;
  Machine machine_;
  Profile* profile_ = nullptr;
  std::int64_t past_ = 0;
  std::int64_t length_ = 0;  // of the whole text, as far as it was told
  std::map<TensorKey, CacheSize> cache_sizes_;
  std::map<TensorKey, std::unique_ptr<Arena>> residents_;       // caches, and constants that come with the weights
  std::map<std::int64_t, std::unique_ptr<Arena>> rope_tables_;  // by the place of their rule in ropes_
  std::map<Form, std::unique_ptr<Executor>> executors_;
  std::vector<float> gathered_;  // logits of several chunks
};

}  // namespace reckon
