// The state of a run after a step, in a folder that is a model of its own: config.json, model.safetensors and
// tokenizer.json as transformers reads them, and with them optimizer.safetensors (AdamW's moments, under the program's
// names) and training.json (everything else).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "train/data.h"
#include "train/run_folder.h"
#include "train/settings.h"
#include "train/trainer.h"

namespace reckon {

// Where a run stands. Together with the settings it decides everything that follows: dropout and the order of the data
// are functions of the seed and of these numbers, so there is no other random state.
struct Progress {
  std::int64_t step = 0;                  // updates done
  DataPosition data;                      // where the next batch begins
  double seconds = 0;                     // of all processes that worked on the run, one after another
  double loss = 0;                        // of the last step
  std::optional<double> validation;       // at this step or the last one that was evaluated
  std::optional<double> best_validation;  // …
  std::int64_t best_step = -1;            // … and where it was
};

// What does not change in a run.
struct Identity {
  Settings settings;
  std::string config;     // the text of config.json
  std::string tokenizer;  // the text of tokenizer.json; empty: the data came as ids
  std::string data;       // tells whether the data are still the same
};

struct Checkpoint {
  std::filesystem::path folder;
  std::optional<Arithmetic> arithmetic;  // that made it; older ones do not say
  Progress progress;
  Identity identity;
};

std::filesystem::path write_checkpoint(RunFolder& run, const Trainer& trainer, const Identity& identity,
                                       const Progress& progress);

// Checks every file. An Error says what is wrong.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

// Weights, moments and the number of steps.
void restore(Trainer& trainer, const Checkpoint& checkpoint);

// Copies the values of all parameters, from a model that was trained elsewhere.
void set_weights(Trainer& trainer, const Weights& weights);

}  // namespace reckon
