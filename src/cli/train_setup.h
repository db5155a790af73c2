// What a training run is made of, decided from the command line and, when it is resumed, from its checkpoint.
#pragma once

#include <reckon/model.h>

#include <filesystem>
#include <optional>

#include "cli/train_run.h"
#include "run/weights.h"
#include "train/checkpoint.h"
#include "train/data.h"

namespace reckon::cli {

struct Prepared {
  Model model;
  std::optional<Weights> weights;
  DataOptions data;
  Identity identity;  // but for the data
};

// --out, or a new one. A UsageError where settings make no sense, or the folder holds a run already that is not to be
// resumed.
std::filesystem::path run_path(const TrainCommand& command);

// The last checkpoint of a run that is resumed, checked; none if it has not got so far.
std::optional<Checkpoint> find_checkpoint(const TrainCommand& command, const std::filesystem::path& run);

// Writes the run's tokenizer.json, unless `leads` is false: then another process did.
Prepared prepare(const TrainCommand& command, const std::optional<Checkpoint>& checkpoint,
                 const std::filesystem::path& run, bool leads);

}  // namespace reckon::cli
