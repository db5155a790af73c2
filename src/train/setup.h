// What a training run is made of, decided from what was asked for and, when it is resumed, from its checkpoint.
#pragma once

#include <reckon/model.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "model/modify.h"
#include "run/weights.h"
#include "text/train.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/settings.h"

namespace reckon {

struct RunRequest {
  Settings settings = {};            // those not given have their usual values
  std::set<std::string> given = {};  // keys of the settings that were
  Changes changes = {};              // to the model
  std::filesystem::path out = {};    // the folder of the run; empty: one of its own
  bool resume = false, fall_back = false;
  std::int64_t trained_vocab = 0;  // N of a tokenizer "train:N", as whoever asked writes numbers
  int threads = 0;                 // 0: as many as the process may use
  Device device = Device::cpu;
  std::int64_t memory = 0;                    // bytes that the run may take; 0: all of this machine's
  const std::atomic<bool>* cancel = nullptr;  // as in TrainerOptions
  // All may be empty: what a person should know; how far the tokenizer is; each line of metrics.jsonl.
  std::function<void(const std::string& sentence)> note = {};
  TokenizerTrainingReport tokenizer_progress = {};
  std::function<void(const nlohmann::ordered_json& line)> line = {};
};

struct Prepared {
  Model model;
  std::optional<Weights> weights;
  DataOptions data;
  Identity identity;  // but for the data
};

// request.out, or a new one. A UsageError where settings make no sense, or the folder holds a run already that is not
// to be resumed.
std::filesystem::path run_path(const RunRequest& request);

// The last checkpoint of a run that is resumed, checked; none if it has not got so far.
std::optional<Checkpoint> find_checkpoint(const RunRequest& request, const std::filesystem::path& run);

// Writes the run's tokenizer.json, unless `leads` is false: then another process did.
Prepared prepare(const RunRequest& request, const std::optional<Checkpoint>& checkpoint,
                 const std::filesystem::path& run, bool leads);

}  // namespace reckon
