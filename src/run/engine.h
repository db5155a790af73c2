// A model ready to run: its weights, a cache in pages, and programs for the sizes that it meets. Texts are sessions:
// each has its own length, and several take a step together with the bits that each would have alone.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "backend/cpu/counters.h"
#include "backend/cpu/scratch.h"
#include "run/executor.h"
#include "run/page_pool.h"
#include "run/profile.h"
#include "run/weights.h"
#include "threads/pool.h"

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace reckon {

struct EngineOptions {
  int threads = 0;            // 0: as many as thread_count() says
  std::int64_t sessions = 1;  // that the cache has room for at once
  std::int64_t capacity = 0;  // tokens of the longest session; 0: the model's context
  std::int64_t chunk = 512;   // a longer input runs in pieces, cut at multiples of this
  // Set by another thread or a signal handler: a step throws Cancelled within milliseconds. nullptr: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
  Inspection* inspection = nullptr;  // looks on; nullptr: nobody does
};

class Engine;

// One text: how much of it has been run, and its pages of the cache, which go back when it ends. Its engine must
// outlive it.
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  ~Session() { reset(); }

  // Runs `ids` behind what has been run before. Returns the logits asked for, ids × V or V, which stay until the
  // engine's next step. Of a run that is cancelled the chunks that were done stay, as length() says.
  std::span<const float> run(std::span<const std::int32_t> ids, Logits logits);

  // Another text that begins as this one. Full pages are shared; no token is run again.
  Session fork() const;

  // Begins anew. `length`: how long the text to come will be, where that is known before all of it is run; some kinds
  // of rotary positions depend on it.
  void reset(std::int64_t length = 0);

  // Whether a text that grows to `length` rotates its beginning otherwise than is cached, and has to be run anew:
  // LongRoPE beyond its original context. (Under dynamic NTK, where every further token changes the base, what is
  // cached stays. transformers does both in the same way.)
  bool outgrown(std::int64_t length) const;

  std::int64_t length() const { return length_; }

 private:
  friend class Engine;
  explicit Session(Engine& engine) : engine_(&engine) {}

  Engine* engine_;
  std::vector<std::vector<std::int32_t>> pages_;  // of each kind of cache
  std::int64_t length_ = 0;
  std::int64_t told_ = 0;  // the length of the whole text, as far as it was told
};

class Engine {
 public:
  Engine(Model model, Weights weights, const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Session session() { return Session(*this); }
  // Single tokens of so many sessions are one program: all with one table of rotary positions.
  std::int64_t together() const { return rope_depends_on_length_ ? 1 : cpu_target.few_rows; }

  // Runs some tokens of each of several sessions; returns the logits of each one's last, parts × V, which stay until
  // the next step. Single tokens run together. Where it throws, a session is as long as it was, or by whole chunks
  // longer.
  struct Part {
    Session& session;
    std::span<const std::int32_t> ids;
  };
  std::span<const float> step(std::span<const Part> parts);

  const Model& model() const { return model_; }
  const Weights& weights() const { return weights_; }
  const EngineOptions& options() const { return options_; }
  Counters& counters() { return counters_; }
  Machine& machine() { return machine_; }
  void set_profile(Profile* profile) { profile_ = profile; }

  // The program that runs `tokens` tokens of each of `sequences` sessions, lowered, and where its memory lies.
  const Executor& executor(std::int64_t sequences, std::int64_t tokens, Logits logits) {
    return prepare({sequences, tokens, logits});
  }
  std::int64_t cache_bytes() const;  // of the most pages that were ever taken
  std::int64_t arena_bytes() const { return arena_ == nullptr ? 0 : arena_->size(); }

 private:
  friend class Session;

  // What a program is written for.
  struct Form {
    std::int64_t batch, tokens;
    Logits logits;
    auto operator<=>(const Form&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
  };
  struct Prepared {
    std::unique_ptr<Executor> executor;
    std::int64_t used = 0;  // when
  };
  // The caches that one table of pages serves, and where each lies in a page.
  struct Group {
    std::int64_t page_tokens = 0;
    bool ring = false;
    std::map<TensorKey, std::int64_t> offsets;
    std::unique_ptr<PagePool> pool;
    std::vector<std::int32_t> table;  // of the step at hand
  };

  void lay_out_pages();
  Compiled compiled(const Form& form) const;
  Executor& prepare(Form form);
  Address resident(const Program& program, TensorId id);
  void reserve(std::span<const Part> parts);
  void check(const Session& session, std::span<const std::int32_t> ids) const;
  std::span<const float> run(Session& session, std::span<const std::int32_t> ids, Logits logits);
  // One program: as many tokens of each part. Sessions are longer by them when it is done.
  std::span<const float> run_together(std::span<const Part> parts, Logits logits);
  void fill_inputs(const Executor& executor, std::span<const Part> parts);
  void renew_rope(const Session& session, std::int64_t tokens);

  Model model_;
  std::vector<Rope> ropes_;
  bool rope_depends_on_length_ = false;
  Weights weights_;
  std::shared_ptr<const ParameterTypes> parameter_types_;
  EngineOptions options_;
  Pool pool_;
  Scratch scratch_;
  Counters counters_;
  Machine machine_;
  Profile* profile_ = nullptr;
  std::vector<Group> groups_;                                   // in the order of their tables in every program
  std::vector<std::int32_t> starts_;                            // of the step at hand
  std::map<TensorKey, std::unique_ptr<Arena>> constants_;       // that come with the weights
  std::map<std::int64_t, std::unique_ptr<Arena>> rope_tables_;  // by the place of their rule in ropes_
  std::shared_ptr<Arena> arena_;                                // of all programs, one after the other
  std::map<Form, Prepared> executors_;
  std::int64_t clock_ = 0;
  std::vector<float> gathered_;  // logits of several programs
};

}  // namespace reckon
