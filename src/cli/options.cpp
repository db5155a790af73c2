#include "cli/options.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "files/numbers.h"
#include "files/quote.h"
#include "model/change_words.h"
#include "model/load.h"
#include "model/types.h"
#include "model/validate.h"
#include "network/forward.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

constexpr const char* sizes_help =
    "Sizes are written 512, 16k, 4M, 2B, 15T: k is 1,024 and M 1,024² (10³ and 10⁶ for steps and for an\n"
    "amount of training data), B is 10⁹ and T 10¹².";

constexpr const char* what_a_model_is =
    "a preset (`reckon models`), a folder, that of a training run too, a config.json (-: standard input), a "
    ".safetensors or a .gguf file";

// Other names of words that options take.
constexpr std::pair<std::string_view, std::string_view> short_names[] = {
    {"fp32", "float32"},     {"bf16", "bfloat16"},    {"fp16", "float16"}, {"fp8", "float8_e4m3"},
    {"e4m3", "float8_e4m3"}, {"e5m2", "float8_e5m2"}, {"adam", "adamw"},
};

constexpr Bounds any_size{1, largest_size}, or_none{0, largest_size}, any_amount{1, largest_workload};

constexpr SizeOption size_options[] = {
    {"--layers", "blocks in the stack; its own pattern is repeated", &Changes::layers, {1, most_layers}},
    {"--d-model", "width of the residual stream", &Changes::d_model, any_size},
    {"--heads", "query heads", &Changes::heads, any_size},
    {"--kv-heads", "key/value heads", &Changes::kv_heads, any_size},
    {"--d-head", "width of a head", &Changes::d_head, any_size},
    {"--d-ff", "width of dense feed-forwards; match: the parameters of a plain one with 4·d", &Changes::d_ff, any_size},
    {"--d-expert", "width of a routed expert", &Changes::d_expert, any_size},
    {"--d-shared", "width of the shared expert (of all shared ones together)", &Changes::d_shared, any_size},
    {"--vocab", "tokens in the vocabulary", &Changes::vocab, any_size},
    {"--context", "longest sequence; also the tokens, unless they are given", &Changes::context, any_size},
    {"--window", "keys that a query sees in sliding layers; 0: all", &Changes::window, or_none},
    {"--experts", "experts of a mixture; a dense feed-forward becomes each of them", &Changes::experts, any_size},
    {"--active-experts", "experts that a token takes", &Changes::active_experts, any_size},
    {"--batch", "sequences at once (1)", &Workload::batch, any_amount},
    {"--tokens", "new tokens per sequence (the context; 1 when decoding)", &Workload::tokens, any_amount},
    {"--past",
     "tokens already in the cache (none; context − tokens when decoding)",
     &Workload::past,
     {0, largest_workload}},
    {"--encoder-tokens", "what cross-attention attends to (as many as --tokens)", &Workload::encoder_tokens,
     any_amount},
};

bool takes_match(const SizeOption& option) { return std::string_view(option.flag) == "--d-ff"; }

void add_sizes(CLI::App& command, Options& options, bool of_model, const char* group) {
  for (const SizeOption& option : size_options) {
    if (option.changes_model() != of_model) continue;
    const auto read = [&options, &option](const CLI::results_t& given) {
      const std::string& text = given.front();
      if (takes_match(option) && text == "match") {
        options.setting.changes.match_d_ff = true;
      } else if (is_range(text)) {
        options.ranges[&option] = text;
      } else {
        option.set(options.setting, parse_size(text, option.flag, option.bounds));
      }
      return true;
    };
    command.add_option(option.flag, read, option.help)->type_name(takes_match(option) ? "N|match" : "N")->group(group);
  }
}

}  // namespace

CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& help, const std::string& examples,
                      bool sizes) {
  CLI::App* command = program.add_subcommand(name, help);
  command->group("Commands");
  command->footer("Examples:\n" + examples + (sizes ? std::string("\n\n") + sizes_help : ""));
  return *command;
}

std::string full_name(const CLI::App& command, char between) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent, between) + between) + command.get_name();
}

std::vector<const CLI::App*> listed_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::string option_of(const std::string& field) {
  std::string option = "--" + field;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

template <class Integer>
CLI::Option& add_size(CLI::App& command, const std::string& flag, Integer& value, const std::string& help,
                      Bounds bounds, Units units) {
  const auto in_digits = [flag, bounds, units](std::string& text) {
    text = std::to_string(parse_size(text, flag, bounds, units));
    return std::string();
  };
  // A validator without a description, which the help would show.
  return *command.add_option(flag, value, help)->type_name("N")->transform(CLI::Validator(in_digits, ""));
}
template CLI::Option& add_size(CLI::App&, const std::string&, int&, const std::string&, Bounds, Units);
template CLI::Option& add_size(CLI::App&, const std::string&, std::int64_t&, const std::string&, Bounds, Units);

void expect_whole(CLI::Option& option, std::int64_t least, std::int64_t most) {
  const auto check = [name = option.get_name(), least, most](const std::string& text) {
    const std::optional<std::int64_t> value = parse_whole<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    throw UsageError(fmt::format("{} is {}; expected {} to {}", name, value ? text : quote(text), least, most));
  };
  option.check(CLI::Validator(check, ""));
}

CLI::Option& add_number(CLI::App& command, const char* flag, std::optional<double>& value, double most,
                        const char* type, const char* help) {
  const auto read = [&value, flag, most](const double& number) {
    if (!(number > 0 && number <= most))
      throw UsageError(fmt::format("{} is {:g}; expected a number above 0, up to {:g}", flag, number, most));
    value = number;
  };
  return *command.add_option_function<double>(flag, read, help)->type_name(type);
}

CLI::Option& add_choice(CLI::App& command, const char* flag, const char* help, std::vector<const char*> words,
                        std::function<void(std::size_t)> choose) {
  struct Choice {
    std::vector<const char*> words;
    std::function<void(std::size_t)> choose;
  };
  const std::string type = fmt::format("{}", fmt::join(words, "|"));
  std::vector<std::string_view> others;
  for (const auto& [name, word] : short_names)
    if (std::find(words.begin(), words.end(), word) != words.end()) others.push_back(name);
  const std::string also = others.empty() ? "" : fmt::format("; also {}", fmt::join(others, ", "));
  // Shared, since CLI11 copies what it calls several times, and a program has hundreds of options.
  const auto choice = std::make_shared<const Choice>(Choice{std::move(words), std::move(choose)});
  const auto read = [flag, choice](const CLI::results_t& given) {
    const auto* const name = std::find_if(std::begin(short_names), std::end(short_names),
                                          [&](const auto& pair) { return pair.first == given.front(); });
    const std::string_view word = name == std::end(short_names) ? std::string_view(given.front()) : name->second;
    const auto found = std::find(choice->words.begin(), choice->words.end(), word);
    if (found == choice->words.end()) {
      throw UsageError(
          fmt::format("{} is {}; expected one of: {}", flag, quote(given.front()), fmt::join(choice->words, " ")));
    }
    choice->choose(static_cast<std::size_t>(found - choice->words.begin()));
    return true;
  };
  return *command.add_option(flag, read, help + also)->type_name(type);
}

void SizeOption::set(Setting& setting, std::int64_t value) const {
  if (changes_model()) {
    setting.changes.*std::get<0>(field) = value;
  } else {
    setting.workload.*std::get<1>(field) = value;
  }
}

void add_model(CLI::App& command, std::string& model) {
  command.add_option("MODEL", model, what_a_model_is)->required()->type_name("");
}

void add_models_argument(CLI::App& command, std::vector<std::string>& models) {
  command.add_option("MODELS", models, std::string("two or more, each ") + what_a_model_is)->required()->type_name("");
}

void add_modifiers(CLI::App& command, Options& options) {
  constexpr const char* group = "Changes to the model";
  Changes& changes = options.setting.changes;
  add_sizes(command, options, true, group);
  add_choice(command, "--ffn", changes.ffn, "feed-forward; d_ff stays", feed_forward_words).group(group);
  add_choice(command, "--norm", changes.norm, "every norm", norm_words).group(group);
  add_choice(command, "--norm-position", changes.norm_position, "norms before each sublayer or after its residual",
             norm_position_words)
      .group(group);
  add_choice(command, "--positions", changes.positions, "how positions enter", position_words).group(group);
  const auto yes_or_no = [&](const char* flag, std::optional<bool>& value, const char* help) {
    add_choice(command, flag, value, help, {{"yes", true}, {"no", false}}).group(group);
  };
  yes_or_no("--tied", changes.tied, "whether the head shares the embedding's matrix");
  yes_or_no("--bias", changes.bias, "biases on projections, feed-forwards and LayerNorms");
  yes_or_no("--qkv-bias", changes.qkv_bias, "biases on queries, keys and values; wins over --bias");
  command
      .add_flag_callback(
          "--cross-attention", [&changes] { changes.cross_attention = true; },
          "attention to an encoder's output in every layer")
      ->group(group);
}

void add_workload(CLI::App& command, Options& options, Phase usual) {
  constexpr const char* group = "Workload";
  Workload& workload = options.setting.workload;
  workload.phase = usual;
  add_choice(
      command, "--phase", workload.phase, fmt::format("what is computed ({})", phase_name(usual)).c_str(),
      {{"forward", Phase::forward}, {"prefill", Phase::prefill}, {"decode", Phase::decode}, {"train", Phase::train}})
      .group(group);
  add_choice(command, "--logits", options.logits, "for which tokens (all; last in prefill and decode)",
             {{"all", Logits::all}, {"last", Logits::last}, {"none", Logits::none}})
      .group(group);
  add_choice(command, "--causal", workload.causal, "count every score, or those that causality lets through (full)",
             {{"full", Causal::full}, {"exact", Causal::exact}})
      .group(group);
  add_sizes(command, options, false, group);
}

void add_counting(CLI::App& command, Options& options, Output& output) {
  add_workload(command, options);
  add_choice(command, "--precision", options.precision,
             "of weights, activations and cache, in training of gradients too (bfloat16; training: float32)",
             {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}})
      .group("Workload");
  add_modifiers(command, options);
  add_output(command, output);
}

Setting read_options(const Options& options) {
  if (!options.ranges.empty()) {
    const auto& [option, text] = *options.ranges.begin();
    throw UsageError(fmt::format("{} is the range {}; expected one number here (`reckon sweep` takes one range)",
                                 option->flag, quote(text)));
  }
  Setting setting = options.setting;
  Workload& workload = setting.workload;
  workload.logits = options.logits.value_or(workload_of(workload.phase).logits);
  const bool train = workload.phase == Phase::train;
  const DType type = options.precision.value_or(train ? DType::float32 : DType::bfloat16);
  workload.precision.weights = workload.precision.activations = workload.precision.cache = type;
  if (train) workload.precision.gradients = type;  // the optimizer's moments and wide weights stay float32
  return setting;
}

Swept take_range(Options& options, std::int64_t steps) {
  const auto ranges = std::exchange(options.ranges, {});
  if (ranges.empty()) throw UsageError("no option is a range; expected one, such as --context 1k..1M");
  const auto& [option, text] = *ranges.begin();
  if (ranges.size() > 1) {
    throw UsageError(fmt::format("{} and {} are both ranges; expected one range in a sweep", option->flag,
                                 std::next(ranges.begin())->first->flag));
  }
  return {*option, parse_range(text, option->flag, option->bounds, steps)};
}

std::vector<Swept> take_ranges(Options& options, std::size_t most) {
  const auto ranges = std::exchange(options.ranges, {});
  if (ranges.size() > most)
    throw UsageError(fmt::format("{} options are ranges; expected at most {}", ranges.size(), most));
  std::vector<Swept> swept;
  for (const SizeOption& option : size_options) {
    if (const auto found = ranges.find(&option); found != ranges.end())
      swept.push_back({option, parse_range(found->second, option.flag, option.bounds, 0)});
  }
  return swept;
}

Model read_model(const std::string& name) {
  Model model = load_model(name);
  say_notes(model);
  return model;
}

void say_notes(const Model& model) {
  for (const std::string& sentence : model.notes)
    note(fmt::format("{}: {}", printable(model.name), printable(sentence)));
}

void note_workload(const Model& model, const Workload& workload) {
  const std::string_view frozen = what_stays_frozen(model);
  if (workload.phase == Phase::train && !frozen.empty()) note(fmt::format("{}: {}", printable(model.name), frozen));
  const std::int64_t reach = workload.past + workload.tokens;
  if (reach <= model.context) return;
  note(fmt::format("{} tokens are past {}'s context of {}", grouped(reach), printable(model.name),
                   grouped(model.context)));
}

}  // namespace reckon::cli
