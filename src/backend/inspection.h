// Watches a program run, for verify: what each op did beside what its cost rule says, and whether it wrote to
// its outputs alone.
#pragma once

#include "backend/step.h"
#include "memory/plan.h"
#include "program/program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace reckon {

class Executable;
class HostExecutable;

// What tests break, to see that it is noticed.
struct Sabotage {
  std::int64_t task = -1;  // of every parallel region, left out
  // Spoils the plan, or the places of tensors in the arena.
  std::function<void(const Program&, std::vector<std::int64_t>& offsets, Plan&)> plan;
  std::function<void(const HostExecutable&, std::size_t op)> done;  // after each op, as if the op had done it
};

std::string name_of(const Op& op);  // "rms_norm of layers.0.attention"

// Whether an op is made of tiles, which count their bytes; other ops do not.
bool counts_bytes(const Operation& operation);

class Inspection {
 public:
  explicit Inspection(const Sabotage* sabotage = nullptr) : sabotage_(sabotage) {}
  const Sabotage* sabotage() const { return sabotage_; }

  std::function<void(const Executable&, const Op&)> observe;  // called after each op, where there is one
  // Of the reference: what an op reads as its first input instead of that, or nullptr.
  std::function<std::vector<double>*(const Op&)> first_input;

  // Of ops [first, last), which run at the same time; `so_far`: all that was counted until then; `tiles`: whether bytes
  // are counted, too.
  void begin_run() { contents_.clear(); }
  void before(const HostExecutable& executable, std::size_t first, std::size_t last, const Measured& so_far);
  void after(const HostExecutable& executable, std::size_t first, std::size_t last, std::int64_t past,
             const Measured& so_far, bool tiles);

  double seconds() const { return seconds_; }  // spent on watching
  const Measured& done(Stage stage) const { return done_[static_cast<std::size_t>(stage)]; }
  Measured done() const;
  // One sentence for each op that did something else than its rule says, wrote elsewhere, or read what was not there
  // any more.
  const std::vector<std::string>& findings() const { return findings_; }
  void add(std::string finding);

 private:
  struct Zone {  // beside an output, as it was
    TensorId owner;
    const std::byte* begin;
    std::vector<std::byte> bytes;
  };
  struct Content {
    std::size_t hash, writer;
  };
  void check_costs(const HostExecutable& executable, std::size_t first, std::size_t last, std::int64_t past,
                   const Measured& did, bool tiles);
  void check_zones(const HostExecutable& executable, std::size_t first);

  const Sabotage* sabotage_;
  double seconds_ = 0;
  Measured before_;
  std::array<Measured, 3> done_{};  // by stage
  std::vector<TensorId> outputs_;   // of the ops that run
  std::vector<Zone> zones_;
  std::map<TensorId, Content> contents_;  // of tensors in the arena, when they were last written
  std::vector<std::string> findings_;
};

}  // namespace reckon
