// Every choice of a training run, as it is saved with each checkpoint.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "train/schedule.h"

namespace reckon {

struct Settings {
  // What the run computes.
  std::string model;              // as it was named
  std::vector<std::string> text;  // files and folders; empty with empty `tokens`: the embedded stories
  std::string tokens;             // a token file
  std::string tokenizer;          // a name, file or folder, "bytes", or "train:N"
  std::string init = "gpt2";      // or "scaled"
  std::uint64_t seed = 0;         // of the weights, the order of the data and dropout
  std::int64_t batch = 8;         // sequences of a micro-step
  std::int64_t context = 0;       // tokens of a sequence
  std::int64_t accumulate = 1;    // micro-steps of a step
  std::int64_t ranks = 1;         // processes that train together, each with batches of its own
  Schedule schedule;              // its steps are the run's
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1, clip = 1.0;
  double dropout = 0;
  std::string precision = "float32";  // or "bfloat16"
  std::string recompute = "none";     // or "selective", "block"
  double validation = 0.1;            // the share of the data that is held out

  // What is looked at and kept on the way; it changes nothing about the result.
  std::int64_t eval_every = 0;    // steps; 0: only at the end
  std::int64_t eval_windows = 0;  // of the held-out part; 0: all
  std::int64_t save_every = 0;    // steps; 0: only at the end
  std::int64_t keep = 3;          // checkpoints besides the best
  std::string sample;             // the prompt
  std::int64_t sample_every = 0;  // steps; 0: only at the end
  std::int64_t layers_every = 0;  // steps between lines with the norms of each layer; 0: none

  bool operator==(const Settings&) const = default;
};

// The word of today for what is computed again: "attention" is an old name of "selective".
std::string recompute_word(const std::string& word);

nlohmann::ordered_json to_json(const Settings& settings);
Settings settings_of(const nlohmann::ordered_json& json);  // an Error names the key that is missing or wrong

// Takes over those that `json` has, and returns their keys. A UsageError names one that is unknown or wrong.
std::set<std::string> read_settings(const nlohmann::ordered_json& json, Settings& settings);

// Throws UsageError where a value makes no sense.
void validate(const Settings& settings);

// Whether the value of this key of to_json() may change when a run is resumed.
bool may_change(const std::string& key);

}  // namespace reckon
