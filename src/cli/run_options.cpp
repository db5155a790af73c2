// Loading a model to run it.
#include "cli/run_options.h"

#include <fmt/format.h>
#include <reckon/reckon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <string_view>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "model/location.h"
#include "threads/pool.h"

namespace reckon::cli {
namespace {

DType dtype_of(const RunOptions& options) {
  return options.dtype.empty() ? DType::float32 : parse_dtype(options.dtype);
}

template <class Integer>
Integer whole(std::string_view text, const std::string& what) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    throw UsageError(fmt::format("{} is {}; expected a whole number", what, quote(text)));
  }
  return value;
}

std::uint64_t seed_of(const RunOptions& options) { return whole<std::uint64_t>(options.random, "--random"); }

// Random weights are made in memory; without this check a large model runs until the system ends it.
void check_memory(const Model& model, DType dtype) {
  const Count bytes = weight_bytes(count(model, workload_of(Phase::decode)), dtype), memory = machine_memory();
  if (bytes <= memory) return;
  throw Error(fmt::format("the weights of {} take {}, but this machine has {} of memory", model.name,
                          binary_bytes(bytes), binary_bytes(memory)));
}

}  // namespace

DType parse_dtype(const std::string& word) {
  if (word == "float32") return DType::float32;
  if (word == "bfloat16") return DType::bfloat16;
  if (word == "float16") return DType::float16;
  throw UsageError(fmt::format("--dtype is {}; expected one of: float32 bfloat16 float16", quote(word)));
}

void add_run(CLI::App& command, RunOptions& options) {
  add_model(command, options.model);
  command.add_option("--random", options.random, "random weights from this seed, instead of files")->type_name("SEED");
  command.add_option("--dtype", options.dtype, "type of random weights (float32)")
      ->type_name("float32|bfloat16|float16");
  add_threads(command, options.threads);
  add_device(command, options.device);
}

CLI::Option& add_device(CLI::App& command, Device& device) {
  const auto read = [&device](const std::string& word) {
    if (word == "cpu") return void(device = Device::cpu);
    if (word == "reference") return void(device = Device::reference);
    if (word == "reference64") return void(device = Device::reference64);
    throw UsageError(fmt::format("--device is {}; expected one of: cpu reference reference64", quote(word)));
  };
  return *command
              .add_option_function<std::string>("--device", read, "what it runs on; reference: plain loops, slow (cpu)")
              ->type_name("cpu|reference|reference64");
}

EngineOptions engine_options(const RunOptions& options) {
  EngineOptions engine;
  engine.device = options.device;
  engine.threads = options.threads;
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
  expect_size(*command
                   .add_option("--context", context,
                               "the longest sequence; more than the model's where positions are computed (the model's)")
                   ->type_name("N"));
}

void expect_whole(CLI::Option& option, std::int64_t least, std::int64_t most) {
  const auto check = [name = option.get_name(), least, most](const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
      return std::string();
    throw UsageError(
        fmt::format("{} is {}; expected {} to {}", name, error == std::errc() ? text : quote(text), least, most));
  };
  option.check(CLI::Validator(check, ""));  // without a description, which the help would show
}

void expect_size(CLI::Option& option, Bounds bounds, Units units) {
  const auto in_digits = [name = option.get_name(), bounds, units](std::string& text) {
    text = std::to_string(parse_size(text, name, bounds, units));
    return std::string();
  };
  option.transform(CLI::Validator(in_digits, ""));
}

Model model_to_run(const RunOptions& options) {
  guard_mapped_files();
  const Model described = read_model(options.model);
  Model model = modify(described, read_options(options.changes).changes);
  if (!options.random.empty()) {
    seed_of(options);
    check_memory(model, dtype_of(options));
    return model;
  }
  if (!options.dtype.empty()) throw UsageError("--dtype is the type of random weights; give --random SEED too");
  if (!(model == described)) throw UsageError("only a model with random weights can be changed; give --random SEED");
  locate_weights(options.model);  // or it says what is missing
  return model;
}

Weights weights_to_run(const RunOptions& options, const Model& model) {
  if (options.random.empty()) return Weights::load(model, locate_weights(options.model));
  try {
    return Weights::random(model, seed_of(options), dtype_of(options), &interrupt_flag());
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
