// Loading a model to run it.
#include "cli/run_options.h"

#include <fmt/format.h>
#include <reckon/reckon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string_view>

#include "backend/backend.h"
#include "backend/interleaved.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "files/checked.h"
#include "files/encoding.h"
#include "files/gguf.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/tensor_file.h"
#include "model/location.h"
#include "model/stored.h"
#include "time/fit.h"

namespace reckon::cli {
namespace {

DType dtype_of(const RunOptions& options) { return options.dtype.value_or(DType::float32); }

// Those that parameters have when they are loaded. What no kernel reads is left to loading, which says so.
std::shared_ptr<const ParameterTypes> runnable_types(const Model& model, const std::filesystem::path& path) {
  const std::shared_ptr<const ParameterTypes> stored = stored_types(model, read_tensor_file(path));
  auto types = std::make_shared<ParameterTypes>();
  for (const auto& [key, dtype] : *stored)
    if (is_quantised(dtype) || dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16)
      types->emplace(key, dtype);
  return types;
}

template <class Integer>
Integer whole(std::string_view text, const std::string& what) {
  if (const std::optional<Integer> value = parse_whole<Integer>(text)) return *value;
  throw UsageError(fmt::format("{} is {}; expected a whole number", what, quote(text)));
}

}  // namespace

void add_weights(CLI::App& command, RunOptions& options) {
  add_model(command, options.model);
  const auto seed = [&options](const std::string& text) { options.random = whole<std::uint64_t>(text, "--random"); };
  command.add_option_function<std::string>("--random", seed, "random weights from this seed, instead of files")
      ->type_name("SEED");
  add_choice(command, "--dtype", options.dtype, "type of random weights (float32)",
             {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"float16", DType::float16}});
}

void add_run(CLI::App& command, RunOptions& options) {
  add_weights(command, options);
  add_choice(command, "--cache", options.cache, "type of the cached keys and values (float32)",
             {{"float32", DType::float32}, {"q8_0", DType::q8_0}});
  add_threads(command, options.threads);
  add_device(command, options.device);
}

CLI::Option& add_device(CLI::App& command, Device& device) {
  const std::span<const DeviceName> names = device_names();
  std::vector<const char*> words;
  for (const DeviceName& name : names) words.push_back(name.word);
  return add_choice(command, "--device", "what it runs on; reference: plain loops, slow (cpu)", std::move(words),
                    [&device, names](std::size_t i) { device = names[i].device; });
}

EngineOptions engine_options(const RunOptions& options) {
  EngineOptions engine;
  engine.device = options.device;
  engine.threads = options.threads;
  engine.cache = options.cache.value_or(DType::float32);
  engine.cancel = &interrupt_flag();
  return engine;
}

CLI::Option& add_threads(CLI::App& command, int& threads) {
  CLI::Option& option =
      *command.add_option("--threads", threads, "threads; the results do not depend on it (all)")->type_name("N");
  expect_whole(option, 1, 1024);
  return option;
}

void add_context(CLI::App& command, std::int64_t& context) {
  add_size(command, "--context", context,
           "the longest sequence; more than the model's where positions are computed (the model's)");
}

Model model_to_run(const RunOptions& options) {
  guard_mapped_files();
  const Model described = read_model(options.model);
  Model model = modify(described, read_options(options.changes).changes);
  if (options.random) {
    // They are made in memory; without this check a large model runs until the system ends it.
    check_memory("the weights of " + model.name,
                 weight_bytes(count(model, workload_of(Phase::decode)), dtype_of(options)));
    return model;
  }
  if (options.dtype) throw UsageError("--dtype is the type of random weights; give --random SEED too");
  if (!(model == described)) throw UsageError("only a model with random weights can be changed; give --random SEED");
  locate_weights(options.model);  // or it says what is missing
  return model;
}

namespace {

// Of a folder: its blocks are reordered when they are loaded, so that the copies which kernels keep of them lie beside
// memory, not beside a mapped file.
std::int64_t copies_beside_memory(const Model& model, const std::filesystem::path& path, const ParameterTypes& types) {
  if (is_gguf(path)) return 0;
  std::int64_t bytes = 0;
  for (const StoredParameter& parameter : stored_layout(model, read_tensor_file(path)).parameters) {
    const auto found = types.find(parameter.key);
    if (found == types.end() || !is_quantised(found->second) || parameter.shape.size() < 2) continue;
    if (!keeps_interleaved(found->second, parameter.shape[parameter.shape.size() - 2])) continue;
    std::int64_t elements = 1;
    for (const std::int64_t extent : parameter.shape) elements = checked_multiply(elements, extent, "a parameter");
    bytes = checked_add(bytes, row_bytes(found->second, elements), "the copies of weights");
  }
  return bytes;
}

RunOnCpu run_on_cpu(const RunOptions& options, const Model& model, std::int64_t tokens) {
  const std::filesystem::path path = locate_weights(options.model);
  const auto types = runnable_types(model, path);
  return {types, tokens, options.cache.value_or(DType::float32), copies_beside_memory(model, path, *types)};
}

}  // namespace

std::int64_t bytes_to_take(const RunOptions& options, const Model& model, std::int64_t tokens) {
  if (options.random || options.device != Device::cpu) return 0;
  return bytes_to_run(model, run_on_cpu(options, model, tokens));
}

Weights weights_to_run(const RunOptions& options, const Model& model, std::int64_t tokens, std::int64_t beside) {
  if (!options.random) {
    if (options.device == Device::cpu)
      check_fits(model, run_on_cpu(options, model, tokens), available_memory(), beside);
    else
      check_memory("the weights of " + model.name + ", of 8 bytes each on the reference,",
                   weight_bytes(count(model, workload_of(Phase::decode)), DType::float64), available_memory());
    return Weights::load(model, locate_weights(options.model));
  }
  try {
    return Weights::random(model, *options.random, dtype_of(options), &interrupt_flag());
  } catch (const Cancelled&) {
    throw Error("interrupted while random weights were being made");
  }
}

std::vector<std::int32_t> parse_ids(const std::string& text, const std::string& option) {
  constexpr std::string_view spaces = " \t\r\n";
  std::vector<std::int32_t> ids;
  std::string_view rest = text;
  const auto skip_spaces = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(spaces), rest.size())); };
  skip_spaces();
  if (rest.empty()) throw UsageError(fmt::format("{0} holds no id; expected whole numbers, as in {0} 1,2,3", option));
  for (bool more = true; more;) {
    const std::string_view word = rest.substr(0, rest.find_first_of(", \t\r\n"));
    if (word.empty()) {
      throw UsageError(
          fmt::format("id {0} of {1} is empty; expected whole numbers, as in {1} 1,2,3", ids.size() + 1, option));
    }
    ids.push_back(whole<std::int32_t>(word, "an id of " + option));
    rest.remove_prefix(word.size());
    skip_spaces();
    more = !rest.empty();
    if (rest.starts_with(',')) {  // one comma, and an id must follow it
      rest.remove_prefix(1);
      skip_spaces();
    }
  }
  return ids;
}

std::int64_t longest_run(const Model& model, std::int64_t asked) {
  if (asked == 0) return model.context;
  if (asked > model.context && model.positions.kind == Positions::Kind::learned) {
    throw UsageError(fmt::format("--context is {}; expected at most {}, for which {} has learned positions", asked,
                                 grouped(model.context), model.name));
  }
  return asked;
}

void check_length(const Model& model, std::int64_t tokens, std::int64_t room, const std::string& hint) {
  if (tokens <= room) return;
  throw UsageError(
      fmt::format("{} tokens are more than the context of {}, {}{}", grouped(tokens), model.name, grouped(room), hint));
}

std::string room_hint(const Model& model) {
  return model.positions.kind == Positions::Kind::learned ? "" : "; --context N makes room for more";
}

void guard_mapped_files() {
#ifdef SIGBUS
  std::signal(SIGBUS, [](int) {
    constexpr std::string_view sentence = "reckon: a file became shorter while it was being read\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    ::_exit(1);
  });
#endif
}

}  // namespace reckon::cli
