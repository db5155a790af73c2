// What is behind reckon/run.h: a cache in pages, and programs for the sizes that an engine meets. Texts are sessions:
// each has its own length, and several take a step together with the bits that each would have alone.
#pragma once

#include <reckon/run.h>

#include "backend/cpu/counters.h"
#include "backend/cpu/scratch.h"
#include "run/executor.h"
#include "run/page_pool.h"
#include "run/profile.h"
#include "run/reference_model.h"
#include "run/weights.h"
#include "threads/pool.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace reckon {

class EngineCore {
 public:
  using Part = Engine::Part;

  EngineCore(std::shared_ptr<const LoadedModel> model, const EngineOptions& options);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  Session session() { return Session(*this); }
  // Single tokens of so many sessions are one program: all with one table of rotary positions.
  std::int64_t together() const { return rope_depends_on_length_ || reference_ != nullptr ? 1 : cpu_target.few_rows; }

  std::span<const float> step(std::span<const Part> parts);

  const Model& model() const { return model_; }
  const Weights& weights() const { return weights_; }
  const EngineOptions& options() const { return options_; }
  Counters& counters() { return counters_; }
  Machine& machine() { return machine_; }
  void set_profile(Profile* profile) { profile_ = profile; }

  // The program that runs `tokens` tokens of each of `sequences` sessions, lowered for the cpu, which must be the
  // device, and where its memory lies.
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
  std::span<const float> run_on_reference(const Part& part, Logits logits);
  void fill_inputs(const Executor& executor, std::span<const Part> parts);
  void renew_rope(const Session& session, std::int64_t tokens);

  std::shared_ptr<const LoadedModel> loaded_;
  const Model& model_;
  const Weights& weights_;
  std::vector<Rope> ropes_;
  bool rope_depends_on_length_ = false;
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
  std::vector<float> gathered_;                // logits of several programs
  std::unique_ptr<ReferenceModel> reference_;  // nullptr: on the cpu
  std::vector<float> reference_logits_;
};

}  // namespace reckon
