// The options of commands that run a model: its weights, threads, and the ids it is given.
#pragma once

#include <reckon/model.h>

#include "cli/options.h"
#include "run/engine.h"
#include "run/weights.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon::cli {

struct RunOptions {
  std::string model;
  std::optional<std::uint64_t> random;  // a seed; none: weights from files
  std::optional<DType> dtype;           // of random weights
  int threads = 0;
  Device device = Device::cpu;
  std::optional<DType> cache;  // float32 unless it is given
  Options changes;             // of a model with random weights, where the command takes modifiers
};

void add_weights(CLI::App& command, RunOptions& options);    // MODEL, --random, --dtype
void add_run(CLI::App& command, RunOptions& options);        // MODEL, --random, --dtype, --cache, --threads, --device
CLI::Option& add_threads(CLI::App& command, int& threads);   // --threads; left out, it stays 0
void add_context(CLI::App& command, std::int64_t& context);  // --context; left out, it stays 0
CLI::Option& add_device(CLI::App& command, Device& device);  // --device; left out, it stays as it is
// The model that is to run, with all that can be wrong about it said; then its weights. Random ones take their time:
// an InterruptHandler around it ends that with an Error.
Model model_to_run(const RunOptions& options);
// Weights are refused before they are loaded where they, and a cache for so many tokens, are more than there is memory;
// `beside` bytes of that are for another model.
Weights weights_to_run(const RunOptions& options, const Model& model, std::int64_t tokens = 1, std::int64_t beside = 0);
// What they will take of the memory that is free now. Of files: they are mapped, and read when the model runs.
std::int64_t bytes_to_take(const RunOptions& options, const Model& model, std::int64_t tokens = 1);
EngineOptions engine_options(const RunOptions& options);  // threads, device, and an interrupt that cancels

// "1,2,3" or "1 2 3": ids of tokens, given with this option.
std::vector<std::int32_t> parse_ids(const std::string& text, const std::string& option = "--ids");

// The longest sequence of a run: as asked for, or 0: the model's context. UsageError where that is more than the
// context and positions are learned.
std::int64_t longest_run(const Model& model, std::int64_t asked);

// "; --context N makes room for more", where it does.
std::string room_hint(const Model& model);

// Throws UsageError where so many tokens are more than there is room for.
void check_length(const Model& model, std::int64_t tokens, std::int64_t room, const std::string& hint = "");

// A file that shrinks while it is mapped ends the program with a sentence and exit code 1, not with a bus error.
void guard_mapped_files();

}  // namespace reckon::cli
