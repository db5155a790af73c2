#include "cli/options.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "files/numbers.h"
#include "files/quote.h"
#include "model/load.h"
#include "model/validate.h"
#include "network/forward.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

constexpr const char* sizes_help =
    "Sizes are written 512, 16k, 4M, 2B, 15T: k is 1,024 and M 1,024² (10³ and 10⁶ for steps and for an\n"
    "amount of training data), B is 10⁹ and T 10¹².";

constexpr bool of_model = true, of_workload = false;

struct SizeOption {
  const char* flag;
  const char* help;
  bool model;
  Bounds bounds;
  void (*set)(Setting&, std::int64_t);
};

constexpr Bounds any_size{1, largest_size}, or_none{0, largest_size}, any_amount{1, largest_workload};

// clang-format off
constexpr std::array<SizeOption, n_sizes> size_options{{
    {"--layers", "blocks in the stack; its own pattern is repeated", of_model, {1, most_layers}, [](Setting& s, std::int64_t n) { s.changes.layers = n; }},
    {"--d-model", "width of the residual stream", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.d_model = n; }},
    {"--heads", "query heads", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.heads = n; }},
    {"--kv-heads", "key/value heads", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.kv_heads = n; }},
    {"--d-head", "width of a head", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.d_head = n; }},
    {"--d-ff", "width of dense feed-forwards; match: the parameters of a plain one with 4·d", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.d_ff = n; }},
    {"--d-expert", "width of a routed expert", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.d_expert = n; }},
    {"--d-shared", "width of the shared expert (of all shared ones together)", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.d_shared = n; }},
    {"--vocab", "tokens in the vocabulary", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.vocab = n; }},
    {"--context", "longest sequence; also the tokens, unless they are given", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.context = n; }},
    {"--window", "keys that a query sees in sliding layers; 0: all", of_model, or_none, [](Setting& s, std::int64_t n) { s.changes.window = n; }},
    {"--experts", "experts of a mixture; a dense feed-forward becomes each of them", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.experts = n; }},
    {"--active-experts", "experts that a token takes", of_model, any_size, [](Setting& s, std::int64_t n) { s.changes.active_experts = n; }},
    {"--batch", "sequences at once (1)", of_workload, any_amount, [](Setting& s, std::int64_t n) { s.workload.batch = n; }},
    {"--tokens", "new tokens per sequence (the context; 1 when decoding)", of_workload, any_amount, [](Setting& s, std::int64_t n) { s.workload.tokens = n; }},
    {"--past", "tokens already in the cache (none; context − tokens when decoding)", of_workload, {0, largest_workload}, [](Setting& s, std::int64_t n) { s.workload.past = n; }},
    {"--encoder-tokens", "what cross-attention attends to (as many as --tokens)", of_workload, any_amount, [](Setting& s, std::int64_t n) { s.workload.encoder_tokens = n; }},
}};

struct WordOption {
  const char* flag;
  const char* choices;  // "a|b|c"
  const char* help;
  bool model;
  void (*set)(Setting&, const std::string&);  // with one of the choices
};

Phase phase_of(const std::string& word) {
  return word == "prefill" ? Phase::prefill : word == "decode" ? Phase::decode : word == "train" ? Phase::train : Phase::forward;
}

// The phase comes first: it decides what the others start from.
constexpr std::array<WordOption, n_words> word_options{{
    {"--phase", "forward|prefill|decode|train", "what is computed (forward)", of_workload, [](Setting& s, const std::string& w) { s.workload = workload_of(phase_of(w)); }},
    {"--logits", "all|last|none", "for which tokens (all; last in prefill and decode)", of_workload, [](Setting& s, const std::string& w) { s.workload.logits = w == "all" ? Logits::all : w == "last" ? Logits::last : Logits::none; }},
    {"--causal", "full|exact", "count every score, or those that causality lets through (full)", of_workload, [](Setting& s, const std::string& w) { s.workload.causal = w == "exact" ? Causal::exact : Causal::full; }},
    {"--ffn", "gelu|relu|silu|swiglu|geglu", "feed-forward; d_ff stays", of_model, [](Setting& s, const std::string& w) { s.changes.ffn = parse_feed_forward(w); }},
    {"--norm", "layernorm|rmsnorm", "every norm", of_model, [](Setting& s, const std::string& w) { s.changes.norm = parse_norm(w); }},
    {"--norm-position", "pre|post", "norms before each sublayer or after its residual", of_model, [](Setting& s, const std::string& w) { s.changes.norm_position = parse_norm_position(w); }},
    {"--positions", "learned|sinusoidal|rope|alibi|none", "how positions enter", of_model, [](Setting& s, const std::string& w) { s.changes.positions = parse_positions(w); }},
    {"--tied", "yes|no", "whether the head shares the embedding's matrix", of_model, [](Setting& s, const std::string& w) { s.changes.tied = w == "yes"; }},
    {"--bias", "yes|no", "biases on projections, feed-forwards and LayerNorms", of_model, [](Setting& s, const std::string& w) { s.changes.bias = w == "yes"; }},
    {"--qkv-bias", "yes|no", "biases on queries, keys and values; wins over --bias", of_model, [](Setting& s, const std::string& w) { s.changes.qkv_bias = w == "yes"; }},
}};
// clang-format on

bool is_choice(const std::string& word, std::string_view choices) {
  while (!choices.empty()) {
    const std::size_t end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == word) return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

// "a|b|c" in a sentence: "a b c".
std::string listed(std::string choices) {
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return choices;
}

constexpr const char* precisions = "float32|bfloat16";

// FLOPs are the same in any; bytes are not.
void set_precision(Workload& workload, const std::string& word) {
  if (!word.empty() && !is_choice(word, precisions))
    throw UsageError(fmt::format("--precision is {}; expected one of: {}", quote(word), listed(precisions)));
  const bool train = workload.phase == Phase::train;
  if (train && word == "bfloat16")
    throw UsageError("--precision is bfloat16 in --phase train; expected float32, in which a training step is counted");
  const DType type = word == "float32" || train ? DType::float32 : DType::bfloat16;
  workload.precision.weights = workload.precision.activations = workload.precision.cache = type;
}

void add_shared(CLI::App& command, Options& options, bool model, const std::string& group) {
  const auto add_words = [&] {
    for (std::size_t i = 0; i < n_words; ++i) {
      const WordOption& option = word_options[i];
      if (option.model == model) {
        command.add_option(option.flag, options.words[i], option.help)->type_name(option.choices)->group(group);
      }
    }
  };
  if (!model) add_words();
  for (std::size_t i = 0; i < n_sizes; ++i) {
    const SizeOption& option = size_options[i];
    const bool match = std::string_view(option.flag) == "--d-ff";
    if (option.model == model) {
      command.add_option(option.flag, options.sizes[i], option.help)->type_name(match ? "N|match" : "N")->group(group);
    }
  }
  if (model) add_words();
}

}  // namespace

std::string option_of(const std::string& field) {
  std::string option = "--" + field;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& help, const std::string& examples,
                      bool sizes) {
  CLI::App* command = program.add_subcommand(name, help);
  command->group("Commands");
  command->footer("Examples:\n" + examples + (sizes ? std::string("\n\n") + sizes_help : ""));
  return *command;
}

namespace {
constexpr const char* what_a_model_is =
    "a preset (`reckon models`), a folder, that of a training run too, a config.json (-: standard input) or a "
    ".safetensors file";
}

void add_model(CLI::App& command, std::string& model) {
  command.add_option("MODEL", model, what_a_model_is)->required()->type_name("");
}

void add_models_argument(CLI::App& command, std::vector<std::string>& models) {
  command.add_option("MODELS", models, std::string("two or more, each ") + what_a_model_is)->required()->type_name("");
}

void add_modifiers(CLI::App& command, Options& options) {
  add_shared(command, options, of_model, "Changes to the model");
  command.add_flag("--cross-attention", options.cross_attention, "attention to an encoder's output in every layer")
      ->group("Changes to the model");
}

void add_workload(CLI::App& command, Options& options) { add_shared(command, options, of_workload, "Workload"); }

void add_precision(CLI::App& command, Options& options) {
  command
      .add_option("--precision", options.precision,
                  "of weights, activations and cache (bfloat16; training is counted in float32)")
      ->type_name(precisions)
      ->group("Workload");
}

Setting read_options(const Options& options) {
  Setting setting;
  for (std::size_t i = 0; i < n_words; ++i) {
    const std::string& word = options.words[i];
    if (word.empty()) continue;
    if (!is_choice(word, word_options[i].choices)) {
      throw UsageError(fmt::format("{} is {}; expected one of: {}", word_options[i].flag, quote(word),
                                   listed(word_options[i].choices)));
    }
    word_options[i].set(setting, word);
  }
  for (std::size_t i = 0; i < n_sizes; ++i) {
    const std::string& text = options.sizes[i];
    const SizeOption& option = size_options[i];
    if (text.empty()) continue;
    if (text == "match" && std::string_view(option.flag) == "--d-ff") {
      setting.changes.match_d_ff = true;
      continue;
    }
    if (is_range(text)) {
      throw UsageError(fmt::format("{} is the range {}; expected one number here (`reckon sweep` takes one range)",
                                   option.flag, quote(text)));
    }
    option.set(setting, parse_size(text, option.flag, option.bounds));
  }
  if (options.cross_attention) setting.changes.cross_attention = true;
  set_precision(setting.workload, options.precision);
  return setting;
}

Swept take_range(Options& options, std::int64_t steps) {
  std::size_t found = n_sizes;
  for (std::size_t i = 0; i < n_sizes; ++i) {
    if (!is_range(options.sizes[i])) continue;
    if (found < n_sizes) {
      throw UsageError(fmt::format("{} and {} are both ranges; expected one range in a sweep", size_options[found].flag,
                                   size_options[i].flag));
    }
    found = i;
  }
  if (found == n_sizes) throw UsageError("no option is a range; expected one, such as --context 1k..1M");
  const SizeOption& option = size_options[found];
  Swept swept{found, option.flag, parse_range(options.sizes[found], option.flag, option.bounds, steps)};
  options.sizes[found].clear();
  return swept;
}

void set_size(Setting& setting, std::size_t option, std::int64_t value) { size_options.at(option).set(setting, value); }

bool changes_model(std::size_t option) { return size_options.at(option).model; }

Model read_model(const std::string& name) {
  Model model = load_model(name);
  say_notes(model);
  return model;
}

void say_notes(const Model& model) {
  for (const std::string& note : model.notes) {
    const std::string line = fmt::format("reckon: note: {}: {}\n", printable(model.name), printable(note));
    std::fputs(line.c_str(), stderr);
  }
}

void note_past_context(const Model& model, const Workload& workload) {
  const std::int64_t reach = workload.past + workload.tokens;
  if (reach <= model.context) return;
  say(fmt::format("reckon: note: {} tokens are past {}'s context of {}\n", grouped(reach), printable(model.name),
                  grouped(model.context)));
}

}  // namespace reckon::cli
