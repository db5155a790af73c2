// Predicted beside measured: a prefill and some decode steps with the counters on.
#pragma once

#include <reckon/count.h>
#include <reckon/ledger.h>
#include <reckon/model.h>

#include "backend/inspection.h"
#include "run/engine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

// Where a figure was measured.
enum class MeasuredBy : std::uint8_t {
  files,    // elements and bytes of the weights that were read
  tiles,    // what each tile's kernel multiplied
  loops,    // what each loop went over
  touched,  // memory that differs from the pattern it was filled with
  taken,    // memory that was handed out
};

// One quantity: what the mathematics asks for, what the backend's program says, what the kernels did.
struct Check {
  std::string name;
  std::string unit;
  std::optional<Count> headline;
  Count lowered;
  Count measured;
  MeasuredBy by;
  std::optional<Count> least{};  // that the lowered program says: less where it depends on the experts chosen
  bool equal() const { return measured <= lowered && measured >= least.value_or(lowered); }
};

// Why the lowered program does less (or more) than the headline: one line per component that differs.
struct Difference {
  std::string phase, component, reason;
  Count headline, lowered;
};

struct PhaseTime {
  std::string phase;
  std::int64_t tokens = 0;  // per sequence
  double seconds = 0;
};

struct Verification {
  std::vector<Check> checks;
  std::vector<Difference> differences;
  std::vector<std::pair<std::string, Count>> unmeasured;  // what the lowered program says and nobody measures
  std::vector<std::string> findings;  // ops that did something else than their rule says, or wrote elsewhere
  std::vector<PhaseTime> times;
  std::int64_t scratch_bytes = 0, peak_rss = 0;  // listed apart: never claimed equal
  bool holds() const;
};

// Of a prefill and decoding, of a training step (train/verify_step.h) and of a comparison (run/verify_reference.h).
struct VerifyOptions {
  std::int64_t tokens =
      0;  // of a sequence; 0: half the context, in training all of it, at most 512; compared, at most 16
  std::int64_t steps = 8;  // of decoding
  std::int64_t batch = 1;
  DType precision = DType::float32;  // of training
  Device device = Device::cpu;
  DType cache = DType::float32;
  int threads = 0;
  std::uint64_t seed = 1;                     // of the ids
  const std::atomic<bool>* cancel = nullptr;  // what runs is told to stop
  const Sabotage* sabotage = nullptr;         // of tests
};

Verification verify(const Model& model, Weights weights, const VerifyOptions& options);

// Before any is made: an Error where the caches of so many texts take more memory than this machine has.
void check_caches(const Model& model, std::int64_t texts, std::int64_t tokens, DType type);

// What verify() of a training step needs too.
std::vector<std::int32_t> verify_ids(const Model& model, std::int64_t count, std::uint64_t seed);
// Of one stage of the ledgers, for a target.
struct Work {
  WorkTotals totals;
  Count tile_bytes, tile_bytes_least, other_bytes;
};
Work work_of(const Ledger& ledger, Stage stage, const Target& target);
Work& operator+=(Work& sum, const Work& more);
void add_work(Verification& result, const std::string& phase, const Work& headline, const Work& lowered,
              const Measured& measured, const Target& target);
void add_arena(Verification& result, const std::string& phase, const Executable& executable);
void add_differences(Verification& result, const std::string& phase, const Ledger& headline, const Ledger& lowered);
std::int64_t peak_resident_bytes();

}  // namespace reckon
