// What is behind reckon/run.h: a cache in pages, and programs for the sizes that an engine meets. Texts are sessions:
// each has its own length, and several take a step together with the bits that each would have alone.
#pragma once

#include <reckon/run.h>

#include "backend/backend.h"
#include "run/page_pool.h"
#include "run/weights.h"

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
  std::int64_t together() const { return rope_depends_on_length_ ? 1 : backend_->target().few_rows; }

  std::span<const float> step(std::span<const Part> parts);

  const Model& model() const { return model_; }
  const Weights& weights() const { return weights_; }
  const EngineOptions& options() const { return options_; }
  Backend& backend() { return *backend_; }

  // What runs `tokens` tokens of each of `sequences` sessions with so many cached, to be counted.
  Program lowered(std::int64_t sequences, std::int64_t tokens, Logits logits, std::int64_t past) const;
  std::vector<std::shared_ptr<const Executable>> executables() const;  // the programs that are kept
  std::int64_t cache_bytes() const;                                    // of the most pages that were ever taken
  std::int64_t planned_cache() const { return planned_cache_; }        // of a session at capacity
  const std::map<TensorKey, Address>& parameters() const { return parameters_; }  // where the backend has them
  std::int64_t arena_bytes() const { return arena_ == nullptr ? 0 : arena_->bytes(); }

 private:
  friend class Session;

  // What a program is written for.
  struct Form {
    std::int64_t batch, tokens;
    Logits logits;
    // Of a backend without pages: the tokens that are cached, and the block that has them. Otherwise any.
    std::int64_t past = 0;
    std::int32_t block = 0;
    auto operator<=>(const Form&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
  };
  struct Prepared {
    std::shared_ptr<Executable> executable;
    std::int64_t used = 0;  // when
  };
  struct CachePlace {
    std::int64_t offset, bytes;  // in a page
  };
  // The caches that one table of pages serves, and where each lies in a page. Without pages there is one group, and a
  // session has a block of it with room for its capacity. What holds the state of a recurrence has two pages (blocks)
  // of a session: a step reads the first and writes the second, and when it is done they change places.
  struct Group {
    std::int64_t page_tokens = 0;
    bool ring = false;
    bool state = false;
    std::map<TensorKey, CachePlace> caches;
    std::unique_ptr<PagePool> pool;
    std::shared_ptr<Buffer> table;  // of the step at hand
  };

  bool paged() const { return backend_->target().page_tokens > 0; }
  Workload at_capacity(std::int64_t sequences, std::int64_t tokens, Logits logits) const;
  Compiled compiled(const Form& form) const;
  void lay_out_pages();
  std::shared_ptr<Executable> prepare(Form form);
  Address resident(const Form& form, const Program& program, TensorId id);
  std::int64_t pages_of_session(const Group& group, std::int64_t length) const;
  void reserve(std::span<const Part> parts);
  void advance(std::span<const Part> parts, std::int64_t tokens);
  void check(const Session& session, std::span<const std::int32_t> ids) const;
  std::span<const float> run(Session& session, std::span<const std::int32_t> ids, Logits logits);
  // One program: as many tokens of each part. Sessions are longer by them when it is done.
  std::span<const float> run_together(std::span<const Part> parts, Logits logits);
  void write_tables(std::span<const Part> parts);
  void renew_rope(const Session& session, std::int64_t tokens);

  std::shared_ptr<const LoadedModel> loaded_;
  const Model& model_;
  const Weights& weights_;
  std::vector<Rope> ropes_;
  bool rope_depends_on_length_ = false;
  std::shared_ptr<const ParameterTypes> parameter_types_;
  EngineOptions options_;
  std::unique_ptr<Backend> backend_;
  std::map<TensorKey, Address> parameters_;
  std::vector<Group> groups_;  // in the order of their tables in every program
  std::int64_t planned_cache_ = 0;
  std::shared_ptr<Buffer> starts_;                               // of the sequences of the step at hand
  std::map<TensorKey, std::shared_ptr<Buffer>> constants_;       // that come with the weights
  std::map<std::int64_t, std::shared_ptr<Buffer>> rope_tables_;  // by the place of their rule in ropes_
  std::shared_ptr<Buffer> arena_;                                // of all programs, one after the other
  std::map<Form, Prepared> programs_;
  std::int64_t clock_ = 0;
  std::vector<float> gathered_;    // logits of several programs
  std::vector<std::byte> logits_;  // of the last one, where they do not lie in memory of the host
};

}  // namespace reckon
