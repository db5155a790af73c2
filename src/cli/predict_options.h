// The options of commands that predict (memory, time, plan): what is run, in which types, on which device, and how it
// is laid out over several.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "lowering/target.h"
#include "time/profile.h"

namespace reckon::cli {

// As they were given.
struct PredictOptions {
  std::string model;
  Options options;  // changes to the model, and the workload
  std::optional<DType> precision, gradients, cache;
  std::optional<Optimizer> optimizer;
  std::optional<Recompute> recompute;
  std::optional<double> dropout, attention_dropout;
  std::optional<std::int64_t> lora;
  std::optional<Lora::Targets> lora_targets;
  std::optional<Target> target;      // nothing: the device's
  std::optional<bool> materialised;  // attention's scores are written out
  std::string on;
  std::optional<double> network;      // GB/s of a device between nodes, in place of the profile's
  std::optional<Layout> layout;       // where any of its options was given
  std::optional<std::int64_t> stage;  // of the pipeline
};

// What they mean together.
struct Prediction {
  Model model;
  Workload workload;  // resolved: tokens and past are those that are asked for
  Target target;
  std::optional<Hardware> hardware;
  bool laid_out = false;              // a layout was given, rather than one device meant
  std::optional<std::int64_t> stage;  // …and of which stage; nothing: the command's choice
  std::optional<DType> weights;       // of the layers' matrices, where these alone are quantised
  bool stored = false;                // weights have the types of the file that they are in
  std::int64_t made_for = 0;          // tokens: the model's own context, before --context
};

// MODEL as it was read, and the types that its weights have where they are those of a GGUF file, or of another that is
// quantised.
struct StoredModel {
  Model model;
  std::shared_ptr<const ParameterTypes> types;       // once the cpu has loaded them; null: those that are asked for
  std::shared_ptr<const ParameterTypes> file_types;  // …and in the file, which other devices are taken to read
};

// MODEL, the workload (`usual` is the phase where none is given), types, training and --on.
void add_prediction(CLI::App& command, PredictOptions& options, Phase usual);
// The same without the workload, for a command that has phases of its own.
void add_prediction(CLI::App& command, PredictOptions& options);
// --network: for commands that time what devices exchange.
void add_network(CLI::App& command, PredictOptions& options);
// --target: for commands that need no speeds of its operations.
void add_target(CLI::App& command, PredictOptions& options);
// --tensor … --micro-batches: for commands that do not search the layout themselves.
void add_layout(CLI::App& command, PredictOptions& options);
// Options that do not go together are a UsageError; what does not divide is refused by the pass that divides.
Prediction read_prediction(const PredictOptions& options);
// Its two steps, for many sizes of one model: the model is read once, and of each size nothing is said on stderr.
StoredModel read_stored_model(const PredictOptions& options);
Prediction settle_prediction(const PredictOptions& options, const StoredModel& loaded);
// Says on stderr that the device's own float16 was taken, where no type was asked for.
void note_float16(const PredictOptions& options, const Prediction& prediction);

}  // namespace reckon::cli
