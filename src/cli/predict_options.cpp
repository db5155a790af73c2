#include "cli/predict_options.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "cli/model_file.h"
#include "files/encoding.h"
#include "files/numbers.h"
#include "network/forward.h"
#include "files/tensor_file.h"
#include "model/location.h"
#include "model/stored.h"
#include "network/parameter_types.h"
#include "time/layouts.h"

namespace reckon::cli {
namespace {

constexpr Bounds ranks{1, std::int64_t{1} << 20};

// Types that weights alone are kept in, to be widened by the product that reads them.
bool only_weights(DType type) {
  return type == DType::float8_e4m3 || type == DType::int8 || type == DType::int4 || type == DType::nf4;
}

void add_share(CLI::App& command, const char* flag, std::optional<double>& value, const char* help) {
  const auto check = [flag](double share) {
    if (!(share >= 0.0 && share < 1.0))
      throw UsageError(fmt::format("{} is {}; expected 0 up to, but not including, 1", flag, share));
  };
  command
      .add_option_function<double>(
          flag, [&value, check](const double& share) { check(share), value = share; }, help)
      ->type_name("X")
      ->group("Training");
}

void add_types(CLI::App& command, PredictOptions& options) {
  constexpr const char* group = "Workload";
  add_choice(command, "--precision", options.precision,
             "of weights, activations and cache; from float8_e4m3 on, of the layers' matrices alone, beside bfloat16 "
             "(bfloat16, or float16 on a GPU without it; training on a processor: float32)",
             {{"float32", DType::float32},
              {"bfloat16", DType::bfloat16},
              {"float16", DType::float16},
              {"float8_e4m3", DType::float8_e4m3},
              {"int8", DType::int8},
              {"int4", DType::int4},
              {"nf4", DType::nf4}})
      .group(group);
  add_choice(command, "--cache", options.cache, "of the cache (as --precision)",
             {{"float32", DType::float32},
              {"bfloat16", DType::bfloat16},
              {"float16", DType::float16},
              {"float8_e4m3", DType::float8_e4m3},
              {"float8_e5m2", DType::float8_e5m2},
              {"q8_0", DType::q8_0},
              {"int8", DType::int8},
              {"int4", DType::int4}})
      .group(group);
  add_choice(command, "--attention", options.materialised,
             "streamed: scores are never written out; materialised: they are (streamed)",
             {{"streamed", false}, {"materialised", true}})
      .group(group);
}

void add_training(CLI::App& command, PredictOptions& options) {
  constexpr const char* group = "Training";
  add_choice(command, "--gradients", options.gradients, "of the parameters' gradients (as --precision)",
             {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"float16", DType::float16}})
      .group(group);
  add_choice(command, "--optimizer", options.optimizer, "(adamw)",
             {{"adamw", Optimizer::adamw},
              {"sgd", Optimizer::sgd},
              {"adafactor", Optimizer::adafactor},
              {"muon", Optimizer::muon},
              {"adam8bit", Optimizer::adam8bit}})
      .group(group);
  add_choice(command, "--recompute", options.recompute,
             "what backward computes again: selective, or attention: attention's scores and weights (none)",
             {{"none", Recompute::none},
              {"selective", Recompute::selective},
              {"block", Recompute::block},
              {"attention", Recompute::selective}})
      .group(group);
  add_share(command, "--dropout", options.dropout, "of the embedding and of what sublayers add (0)");
  add_share(command, "--attention-dropout", options.attention_dropout, "of attention's weights (0)");
  const auto rank = [&options](const std::string& text) { options.lora = parse_size(text, "--lora", {1, 1 << 16}); };
  command
      .add_option_function<std::string>(
          "--lora", rank, "adapters of this rank beside matrices of layers; in training, all else is frozen")
      ->type_name("RANK")
      ->group(group);
  add_choice(command, "--lora-targets", options.lora_targets, "which matrices have adapters (query-value)",
             {{"query-value", Lora::Targets::query_value}, {"all", Lora::Targets::all}})
      .group(group);
}

// An option that was given in a phase that has nothing of it.
template <class Value>
void refuse(const char* flag, const std::optional<Value>& given, Phase phase, const char* expected) {
  if (given) throw UsageError(fmt::format("{} is given in --phase {}; expected {}", flag, phase_name(phase), expected));
}

void refuse_other_phases(const PredictOptions& options, Phase phase) {
  if (phase != Phase::train) {
    const char* const train = "--phase train";
    refuse("--gradients", options.gradients, phase, train);
    refuse("--optimizer", options.optimizer, phase, train);
    refuse("--recompute", options.recompute, phase, train);
    refuse("--dropout", options.dropout, phase, train);
    refuse("--attention-dropout", options.attention_dropout, phase, train);
  }
  if (options.lora_targets && !options.lora) throw UsageError("--lora-targets is given without --lora RANK");
  if (phase == Phase::train || phase == Phase::forward)
    refuse("--cache", options.cache, phase, "--phase prefill or decode, which have a cache");
}

std::int64_t ranks_of(const Layout& layout) { return layout.tensor * layout.context * layout.pipeline * layout.data; }

void check_layout(const Layout& layout, Phase phase, const std::optional<std::int64_t>& stage) {
  if (layout.sequence && layout.tensor < 2)
    throw UsageError("--sequence shares tokens out among the ranks of --tensor; expected --tensor of 2 or more");
  if (layout.virtual_stages > 1 && layout.pipeline < 2)
    throw UsageError(
        fmt::format("--virtual-stages is {}; expected --pipeline of 2 or more with it", layout.virtual_stages));
  if (layout.zero > 0 && layout.data * layout.context < 2)
    throw UsageError(fmt::format("--zero is {}; expected --data or --context-ranks of 2 or more with it", layout.zero));
  if (layout.zero > 0 && phase != Phase::train)
    throw UsageError(fmt::format("--zero is given in --phase {}; expected --phase train", phase_name(phase)));
  if (layout.micro_batches > 1 && phase != Phase::train)
    throw UsageError(fmt::format("--micro-batches is given in --phase {}; expected --phase train", phase_name(phase)));
  if (phase == Phase::train && !in_whole_rounds(layout))
    throw UsageError(
        fmt::format("--micro-batches is {}; interleaved stages (--virtual-stages) go through them in rounds: expected "
                    "a multiple of --pipeline, {}",
                    layout.micro_batches, layout.pipeline));
  if (stage && *stage > 0 && layout.pipeline < 2)
    throw UsageError(fmt::format("--stage is {}; expected --pipeline of 2 or more with it", *stage));
  if (stage && *stage >= layout.pipeline)
    throw UsageError(
        fmt::format("--stage is {}; expected 0 to {}, the last of --pipeline", *stage, layout.pipeline - 1));
}

// As many devices as ranks; without a layout, a program is one device's.
void settle_devices(Prediction& prediction, const std::string& on) {
  Hardware& hardware = *prediction.hardware;
  if (!prediction.laid_out) return;
  const std::int64_t all = ranks_of(prediction.workload.layout);
  if (hardware.devices == 1) hardware.devices = all;
  if (hardware.devices != all)
    throw UsageError(fmt::format(
        "--on {} are {} devices, but the layout has {} ranks (tensor · context · pipeline · data); expected as many",
        on, hardware.devices, all));
}

// The usual type, and that of all that is not quantised: 16 bits that the device has.
DType sixteen_bits(const Prediction& prediction) {
  if (!prediction.hardware || prediction.hardware->profile.kind == DeviceKind::cpu) return DType::bfloat16;
  const auto& peak = prediction.hardware->profile.peak;
  return !peak.count(ComputeType::bfloat16) && peak.count(ComputeType::float16) ? DType::float16 : DType::bfloat16;
}

void set_types(Prediction& prediction, const PredictOptions& options) {
  const bool train = prediction.workload.phase == Phase::train;
  const bool processor = prediction.target == cpu_target || prediction.target.narrow;
  const DType asked = options.precision.value_or(train && processor ? DType::float32 : sixteen_bits(prediction));
  Workload& workload = prediction.workload;
  Precision& types = workload.precision;
  const bool quantised = only_weights(asked);
  if (train && quantised && !options.lora)
    throw UsageError(
        fmt::format("--precision is {} in --phase train; such weights are frozen: expected --lora RANK, "
                    "or float32, bfloat16 or float16",
                    encoding_of(asked).name));
  const DType wide = quantised ? sixteen_bits(prediction) : asked;
  types = {.weights = wide, .activations = wide, .cache = wide, .gradients = wide};
  if (train && processor) {  // the cpu keeps narrow what both passes touch, and computes in float32
    if (wide == DType::float16)
      throw UsageError("--precision is float16 in --phase train; a processor trains in float32 or bfloat16");
    types.activations = types.cache = types.gradients = DType::float32;
    if (wide == DType::bfloat16) workload.parameter_types = vectors_as(prediction.model, DType::float32);
    if (options.gradients.value_or(DType::float32) != DType::float32)
      throw UsageError(fmt::format("--gradients is {}; a processor sums gradients in float32",
                                   encoding_of(*options.gradients).name));
  }
  types.cache = options.cache.value_or(types.cache);
  types.gradients = options.gradients.value_or(types.gradients);
  if (quantised) {
    prediction.weights = asked;
    workload.parameter_types = layer_matrices_as(prediction.model, asked);
  }
}

// Weights have the types of their file, unless the model is not the file's any more.
void take_stored_types(Prediction& prediction, const StoredModel& loaded) {
  if (loaded.types == nullptr || !is_of_file(prediction.model, loaded.model)) return;
  prediction.workload.parameter_types = prediction.target == cpu_target ? loaded.types : loaded.file_types;
  prediction.stored = true;
}

}  // namespace

void add_prediction(CLI::App& command, PredictOptions& options, Phase usual) {
  add_workload(command, options.options, usual);
  add_prediction(command, options);
}

void add_prediction(CLI::App& command, PredictOptions& options) {
  add_model(command, options.model);
  command
      .add_option("--on", options.on, "a device (`reckon hardware`) or a profile's path, and how many: h100, h100:8")
      ->type_name("PROFILE[:N]");
  add_types(command, options);
  add_training(command, options);
  add_modifiers(command, options.options);
}

void add_network(CLI::App& command, PredictOptions& options) {
  add_number(command, "--network", options.network, 1e6, "GB/s",
             "that a device sends between nodes, in one direction (the profile's, if it has any)");
}

void add_target(CLI::App& command, PredictOptions& options) {
  add_choice(command, "--target", options.target,
             "whose operations are planned; megatron: nothing is fused, scores are written out and dropout keeps its "
             "masks, as Korthikanti et al. 2022 count (the device's; gpu)",
             {{"gpu", gpu_target}, {"cpu", cpu_target}, {"megatron", megatron_target}})
      .group("Workload");
}

void add_layout(CLI::App& command, PredictOptions& options) {
  constexpr const char* group = "Layout (--batch is then that of a rank and a micro-batch)";
  const auto add = [&](const char* flag, std::int64_t Layout::*field, const char* help) {
    const auto read = [&options, flag, field](const std::string& text) {
      if (!options.layout) options.layout.emplace();
      (*options.layout).*field = parse_size(text, flag, ranks);
    };
    command.add_option_function<std::string>(flag, read, help)->type_name("N")->group(group);
  };
  add("--tensor", &Layout::tensor, "ranks that share out matrices, by heads, width and vocabulary (1)");
  command
      .add_flag_callback(
          "--sequence",
          [&options] {
            if (!options.layout) options.layout.emplace();
            options.layout->sequence = true;
          },
          "…and between the matrices the tokens")
      ->group(group);
  add("--pipeline", &Layout::pipeline, "stages of the stack of layers (1)");
  add("--virtual-stages", &Layout::virtual_stages, "pieces of the stack that each stage has, interleaved (1)");
  const auto stage = [&options](const std::string& text) {
    options.stage = parse_size(text, "--stage", {0, ranks.most});
  };
  command.add_option_function<std::string>("--stage", stage, "of the pipeline, from 0: the one that is shown")
      ->type_name("N")
      ->group(group);
  add("--data", &Layout::data, "ranks with sequences of their own (1)");
  const auto zero = [&options](const std::int64_t& level) {
    if (!options.layout) options.layout.emplace();
    options.layout->zero = level;
  };
  expect_whole(
      *command
           .add_option_function<std::int64_t>(
               "--zero", zero,
               "what data · context ranks share out: 1: the optimizer's state, 2: gradients too, 3: weights too (0)")
           ->type_name("0..3")
           ->group(group),
      0, 3);
  add("--expert", &Layout::expert, "ranks that share out the experts of mixtures (1)");
  add("--context-ranks", &Layout::context, "ranks that share out the tokens of a sequence (1)");
  add("--micro-batches", &Layout::micro_batches, "that a step of training goes through one after another (1)");
}

Prediction read_prediction(const PredictOptions& options) {
  Prediction prediction = settle_prediction(options, read_stored_model(options));
  note_workload(prediction.model, prediction.workload);
  note_float16(options, prediction);
  return prediction;
}

StoredModel read_stored_model(const PredictOptions& options) {
  StoredModel loaded{read_model(options.model), nullptr, nullptr};
  const ModelLocation location = locate_model(options.model);
  const bool train = options.options.setting.workload.phase == Phase::train;
  if (location.weights.empty() || options.precision || train) return loaded;
  const TensorFile file = read_tensor_file(location.weights);
  if (location.gguf) {
    loaded.types = loaded.file_types = stored_types(loaded.model, file);
    return loaded;
  }
  const FileReport report = inspect_file(loaded.model, file);
  if (report.quantized.empty()) return loaded;
  if (packed_otherwise(report)) {
    note(
        fmt::format("{} holds its weights in {} bytes, as {} packs them, which are planned as plain numbers here "
                    "(--precision int4 plans layers' matrices in 4 bits)",
                    options.model, grouped(report.weight_bytes), report.quantized.front().format));
    return loaded;
  }
  loaded.types = stored_types(loaded.model, file);
  loaded.file_types = file_types(loaded.model, file);
  return loaded;
}

void note_float16(const PredictOptions& options, const Prediction& prediction) {
  if (!options.precision && prediction.workload.precision.weights == DType::float16)
    note(fmt::format("{} has no bfloat16: weights, activations and cache are taken to be in float16 (--precision)",
                     prediction.hardware->profile.name));
}

Prediction settle_prediction(const PredictOptions& options, const StoredModel& loaded) {
  const Setting setting = read_options(options.options);
  Prediction prediction;
  prediction.workload = setting.workload;
  Workload& workload = prediction.workload;
  refuse_other_phases(options, workload.phase);
  if (!options.on.empty()) prediction.hardware = read_hardware(options.on);
  if (options.network) set_network(prediction.hardware->profile, std::max(1ll, std::llround(*options.network * 1e9)));
  const bool processor = prediction.hardware && prediction.hardware->profile.kind == DeviceKind::cpu;
  prediction.target = options.target.value_or(processor ? cpu_target : gpu_target);
  if (options.materialised) prediction.target.fusions.attention = !*options.materialised;
  if (prediction.target.fusions.attention && prediction.target.query_block == 0)
    throw UsageError(fmt::format("--attention is streamed; --target {} writes scores out", prediction.target.name));
  prediction.laid_out = options.layout.has_value();
  prediction.stage = options.stage;
  workload.layout = options.layout.value_or(Layout{});
  check_layout(workload.layout, workload.phase, options.stage);
  workload.layout.stage = options.stage.value_or(0);
  if (prediction.hardware) settle_devices(prediction, options.on);

  prediction.model = modify(loaded.model, setting.changes);
  prediction.made_for = loaded.model.context;
  workload.optimizer = options.optimizer.value_or(Optimizer::adamw);
  workload.recompute = options.recompute.value_or(Recompute::none);
  workload.dropout = options.dropout.value_or(0);
  workload.attention_dropout = options.attention_dropout.value_or(0);
  workload.lora = {.rank = options.lora.value_or(0),
                   .targets = options.lora_targets.value_or(Lora::Targets::query_value)};
  set_types(prediction, options);
  workload = resolve(prediction.model, workload);
  take_stored_types(prediction, loaded);
  return prediction;
}

}  // namespace reckon::cli
