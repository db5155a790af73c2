// Loading a model to run it.
#include "cli/run_options.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <string_view>

#include <unistd.h>

#include "cli/options.h"
#include "files/quote.h"

namespace reckon::cli {
namespace {

DType dtype_of(const std::string& word) {
  if (word == "float32") return DType::float32;
  if (word == "bfloat16") return DType::bfloat16;
  if (word == "float16") return DType::float16;
  throw UsageError(fmt::format("--dtype is {}; expected one of: float32 bfloat16 float16", quote(word)));
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

}  // namespace

void add_run(CLI::App& command, RunOptions& options) {
  add_model(command, options.model);
  command.add_option("--random", options.random, "random weights from this seed, instead of files")->type_name("SEED");
  command.add_option("--dtype", options.dtype, "type of random weights (float32)")->type_name("float32|bfloat16|float16");
  command.add_option("--threads", options.threads, "threads; the results do not depend on it (all)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
}

Loaded load(const RunOptions& options) {
  guard_mapped_files();
  const Model described = load_model(options.model);
  Model model = modify(described, read_options(options.changes).changes);
  const DType dtype = dtype_of(options.dtype);
  if (!options.random.empty()) {
    return {model, Weights::random(model, whole<std::uint64_t>(options.random, "--random"), dtype)};
  }
  if (!(model == described)) throw UsageError("only a model with random weights can be changed; give --random SEED");
  if (!holds_weights(options.model)) {
    throw UsageError(fmt::format("{} is a description without weights; name a folder that has them, or give --random SEED",
                                 quote(options.model)));
  }
  Weights weights = Weights::load(model, options.model);
  return {std::move(model), std::move(weights)};
}

std::vector<std::int32_t> parse_ids(const std::string& text, const std::string& option) {
  std::vector<std::int32_t> ids;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(", ");
    const std::string_view word = rest.substr(0, end);
    if (!word.empty()) ids.push_back(whole<std::int32_t>(word, "an id of " + option));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (ids.empty()) throw UsageError(fmt::format("{0} holds no id; expected whole numbers, as in {0} 1,2,3", option));
  return ids;
}

void check_length(const Model& model, std::int64_t tokens) {
  if (tokens <= model.context) return;
  throw UsageError(fmt::format("{} tokens are more than the context of {}, {}", tokens, model.name, model.context));
}

void guard_mapped_files() {
#ifdef SIGBUS
  std::signal(SIGBUS, [](int) {
    constexpr std::string_view sentence = "reckon: a file of weights became shorter while it was being read\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    ::_exit(1);
  });
#endif
}

}  // namespace reckon::cli
