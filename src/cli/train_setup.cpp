#include "cli/train_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/reckon.h>

#include <algorithm>

#include "cli/run_options.h"
#include "files/atomic_write.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "model/changed_config.h"
#include "model/load.h"
#include "model/read.h"
#include "model/validate.h"
#include "report/progress.h"
#include "run/inputs.h"
#include "text/load.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "text/train.h"
#include "train/stories.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t largest_tokenizer = std::uint64_t{1} << 30;  // bytes

// What was not given follows from what was.
Settings with_usual_values(const TrainCommand& command) {
  Settings settings = command.settings;
  Schedule& schedule = settings.schedule;
  const auto usual = [&](const char* key, auto& value, auto otherwise) {
    if (!command.given.contains(key)) value = otherwise;
  };
  usual("steps", schedule.steps, std::int64_t{1000});
  usual("min_lr", schedule.least, schedule.peak / 10);
  usual("warmup", schedule.warmup, std::min<std::int64_t>(100, schedule.steps / 10));
  const std::int64_t tenth = std::max<std::int64_t>(1, schedule.steps / 10);
  usual("eval_every", settings.eval_every, tenth);
  usual("eval_windows", settings.eval_windows, 32 * settings.batch * settings.ranks);
  usual("save_every", settings.save_every, tenth);
  usual("layers_every", settings.layers_every, std::max<std::int64_t>(1, schedule.steps / 100));
  usual("sample", settings.sample, std::string(settings.text.empty() && settings.tokens.empty() ? "One day" : "\n"));
  return settings;
}

// The saved settings with what may change as it was asked for; a UsageError names what may not and does.
Settings resumed_settings(const TrainCommand& command, const Settings& asked, const Settings& saved) {
  Json settings = to_json(saved);
  const Json wanted = to_json(asked);
  std::vector<std::string> differences;
  for (const std::string& key : command.given) {
    if (wanted[key] == settings[key]) continue;
    if (!may_change(key)) {
      differences.push_back(
          fmt::format("{} is {} here and {} there", option_of(key), wanted[key].dump(), settings[key].dump()));
    } else {
      settings[key] = wanted[key];
    }
  }
  if (!differences.empty()) {
    throw UsageError(
        fmt::format("the run cannot be resumed with other settings than it has: {}", fmt::join(differences, "; ")));
  }
  if (saved.ranks != asked.ranks) {
    throw UsageError(fmt::format(
        "the run was begun by {0} process{1} and cannot be resumed by {2}; expected `mpirun -n {0} reckon train …`",
        saved.ranks, saved.ranks == 1 ? "" : "es", asked.ranks));
  }
  return settings_of(settings);
}

// Which fields of two config.json differ.
void check_same_model(const Json& asked, const Json& saved) {
  std::vector<std::string> differences;
  const auto value = [](const Json& config, const std::string& key) {
    return config.contains(key) ? config[key].dump() : std::string("not there");
  };
  Json keys = asked;
  keys.update(saved);
  for (const auto& [key, ignored] : keys.items()) {
    const std::string here = value(asked, key), there = value(saved, key);
    if (here != there) differences.push_back(fmt::format("{} is {} here and {} there", key, here, there));
  }
  if (differences.empty()) return;
  throw UsageError(
      fmt::format("the run cannot be resumed with another model than it has: {}", fmt::join(differences, "; ")));
}

TrainedTokenizer make_tokenizer(const Settings& settings, std::int64_t tokens, int threads) {
  TokenizerTraining options;
  options.vocab_size = tokens;
  options.threads = threads;
  check_options(options);
  ProgressLine progress;
  const auto report = [&](const TokenizerTrainingProgress& now) {
    progress.show(
        now.phase == TokenizerTrainingProgress::Phase::counting ? "tokenizer: counting words" : "tokenizer: merging",
        now.done, now.total);
  };
  if (settings.text.empty()) {
    const std::string text = stories(0, DataOptions().story_bytes);
    const std::string_view view = text;
    return train_tokenizer({&view, 1}, options, report);
  }
  const std::vector<fs::path> paths(settings.text.begin(), settings.text.end());
  const TextFiles files(paths);
  if (files.bytes() == 0) {
    throw Error(fmt::format("{}: is empty; expected text to train on", fmt::join(settings.text, " and ")));
  }
  return train_tokenizer(files.texts(), options, report);
}

// "train:N" is a tokenizer that is trained now. Returns the text of its tokenizer.json.
std::string tokenizer_text(const Settings& settings, int threads) {
  constexpr std::string_view train = "train:";
  if (!settings.tokenizer.starts_with(train)) return write_tokenizer_json(read_tokenizer(settings.tokenizer));
  const std::int64_t tokens =
      parse_size(settings.tokenizer.substr(train.size()), "--tokenizer train:N", {257, largest_size});
  return write_tokenizer_json(make_tokenizer(settings, tokens, threads).spec);
}

// Weights, gradients and moments alone, whatever the batch.
void check_lasting_memory(const Model& model) {
  Workload one = workload_of(Phase::train);
  one.tokens = 1;
  check_memory("the weights, gradients and moments of " + model.name, count(model, one).state.total());
}

// The model that the command line names.
struct Asked {
  Model model;
  Json config;               // of the model before any changes
  ModelLocation location;    // with weights: it is trained further
  std::int64_t context = 0;  // of the windows that it learns from
};

Asked asked_model(const TrainCommand& command, bool leads) {
  const auto [described, config] = load_described(command.settings.model);
  if (leads) say_notes(described);
  const ModelLocation location = locate_model(command.settings.model);
  Changes changes = read_options(command.changes).changes;
  const std::optional<std::int64_t> context = changes.context;
  const bool weights = !location.weights.empty();
  if (weights) changes.context.reset();  // shorter windows, the same model
  const Model model = modify(described, changes);
  check_no_encoder(model);
  if (weights && !(model == described))
    throw UsageError("a model with weights cannot be changed; leave the options out");
  Asked asked{model, config, location, context.value_or(model.context)};
  check_length(model, asked.context, model.context);
  return asked;
}

// A tokenizer of one's own choice says how large the vocabulary is; where that is settled, it must have room for it.
void fit_vocabulary(Asked& asked, const TrainCommand& command, const Settings& settings, const std::string& tokenizer,
                    bool begins) {
  const std::optional<std::int64_t> vocab = read_options(command.changes).changes.vocab;
  const Tokenizer read(parse_tokenizer_json(tokenizer, "tokenizer.json"));
  const auto tokens = static_cast<std::int64_t>(read.size());  // special tokens included
  if (command.given.contains("tokenizer") && !vocab && asked.location.weights.empty()) {
    Changes changes;
    changes.vocab = tokens;
    asked.model = modify(asked.model, changes);
  }
  if (!begins || tokens <= asked.model.vocab_size) return;
  throw UsageError(fmt::format("the tokenizer {} has {} tokens, but {} is {}", settings.tokenizer, grouped(tokens),
                               vocab ? "--vocab" : "the model's vocabulary", grouped(asked.model.vocab_size)));
}

// From these files, or where the path is empty, random ones.
Weights first_weights(const Model& model, const Settings& settings, const fs::path& files) {
  if (!files.empty()) return Weights::load(model, files);
  const Initialisation init = settings.init == "scaled" ? Initialisation::scaled : Initialisation::gpt2;
  return Weights::initial(model, init, settings.seed);
}

DataOptions data_options(const Settings& settings, const Model& model, const fs::path& run) {
  DataOptions options;
  options.tokenizer.clear();
  options.vocab_size = model.vocab_size;
  options.cache = run / "data";
  options.validation = settings.validation;
  options.context = settings.context;
  options.seed = settings.seed;
  options.paths.assign(settings.text.begin(), settings.text.end());
  if (settings.tokens.empty()) return options;
  if (fs::exists(settings.tokens) && !is_token_file(settings.tokens)) {
    throw Error(fmt::format("{}: is no token file; text is given with --text", settings.tokens));
  }
  options.paths = {settings.tokens};
  return options;
}

}  // namespace

fs::path run_path(const TrainCommand& command) {
  validate(with_usual_values(command));  // before a folder is made
  if (command.out.empty()) {
    if (command.resume) throw UsageError("--resume needs --out: the folder of the run to go on with");
    if (command.settings.model.empty()) throw UsageError("no model was named; expected a preset or a path");
    const std::string name =
        command.settings.model == "-" ? "" : fs::path(command.settings.model).lexically_normal().filename().string();
    for (int number = 1;; ++number) {
      fs::path path = fs::path("runs") / fmt::format("{}-{}", name.empty() ? "model" : name, number);
      std::error_code error;
      if (!fs::exists(path / "metrics.jsonl", error)) return path;
    }
  }
  if (!command.resume && !saved_steps(command.out).empty()) {
    throw UsageError(
        fmt::format("{} holds a run already; --resume goes on with it, or name another folder", quote(command.out)));
  }
  if (command.resume && command.settings.model.empty() && saved_steps(command.out).empty()) {
    throw UsageError(
        fmt::format("{} holds no checkpoint to go on from; without --resume a run begins there", quote(command.out)));
  }
  return command.out;
}

std::optional<Checkpoint> find_checkpoint(const TrainCommand& command, const fs::path& run) {
  if (!command.resume) return std::nullopt;
  std::vector<SavedStep> steps = saved_steps(run);
  for (; !steps.empty(); steps.pop_back()) {
    try {
      return read_checkpoint(steps.back().folder);
    } catch (const Error& error) {
      if (!command.fall_back) {
        throw Error(fmt::format("{}{}", error.what(),
                                steps.size() > 1 ? "; --fall-back goes on from the checkpoint before it" : ""));
      }
      note(fmt::format("{}; falling back", error.what()));
    }
  }
  return std::nullopt;
}

Prepared prepare(const TrainCommand& command, const std::optional<Checkpoint>& checkpoint, const fs::path& run,
                 bool leads) {
  const fs::path tokenizer_file = run / "tokenizer.json";
  Settings settings = with_usual_values(command);
  if (checkpoint) settings = resumed_settings(command, settings, checkpoint->identity.settings);
  if (checkpoint && settings.schedule.steps < checkpoint->progress.step) {
    throw UsageError(fmt::format("--steps is {}; the run has done {} already", grouped(settings.schedule.steps),
                                 grouped(checkpoint->progress.step)));
  }
  if (!settings.tokens.empty() && !settings.text.empty()) throw UsageError("give either --text or --tokens");

  std::optional<Asked> asked;
  std::string tokenizer = checkpoint ? checkpoint->identity.tokenizer : "";
  if (!command.settings.model.empty()) {
    asked = asked_model(command, leads);
    if (!checkpoint) {
      settings.context = asked->context;
      if (settings.tokenizer.empty() && settings.tokens.empty()) {
        settings.tokenizer = asked->location.weights.empty() ? fmt::format("train:{}", asked->model.vocab_size)
                                                             : asked->location.folder.string();
      }
      if (!settings.tokenizer.empty()) {
        tokenizer = leads ? tokenizer_text(settings, command.threads) : read_text(tokenizer_file, largest_tokenizer);
      }
    }
    if (!tokenizer.empty()) fit_vocabulary(*asked, command, settings, tokenizer, !checkpoint.has_value());
  }

  Prepared prepared;
  if (asked) prepared.identity.config = changed_config(asked->config, asked->model).dump(2) + "\n";
  if (checkpoint) {
    if (asked) check_same_model(Json::parse(prepared.identity.config), Json::parse(checkpoint->identity.config));
    prepared.identity.config = checkpoint->identity.config;
    prepared.model = read_config(Json::parse(prepared.identity.config), checkpoint->folder.string());
  } else {
    prepared.model = asked->model;
  }
  check_lasting_memory(prepared.model);
  prepared.weights =
      first_weights(prepared.model, settings, asked && !checkpoint ? asked->location.weights : fs::path());
  prepared.data = data_options(settings, prepared.model, run);
  if (!tokenizer.empty()) {
    if (leads) atomic_write(tokenizer_file, tokenizer);
    prepared.data.tokenizer = tokenizer_file.string();
  }
  prepared.identity.settings = settings;
  prepared.identity.tokenizer = tokenizer;
  return prepared;
}

}  // namespace reckon::cli
