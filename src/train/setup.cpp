#include "train/setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <limits>

#include "files/atomic_write.h"
#include "files/json_document.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "model/changed_config.h"
#include "model/load.h"
#include "model/read.h"
#include "model/types.h"
#include "model/validate.h"
#include "run/inputs.h"
#include "text/load.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "text/train.h"
#include "train/file_hash.h"
#include "train/stories.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t largest_tokenizer = std::uint64_t{1} << 30;  // bytes

void note(const RunRequest& request, const std::string& sentence) {
  if (request.note) request.note(sentence);
}

// What was not given follows from what was.
Settings with_usual_values(const RunRequest& request) {
  Settings settings = request.settings;
  Schedule& schedule = settings.schedule;
  const auto usual = [&](const char* key, auto& value, auto otherwise) {
    if (!request.given.contains(key)) value = otherwise;
  };
  usual("steps", schedule.steps, std::int64_t{1000});
  usual("min_lr", schedule.least, schedule.peak / 10);
  usual("warmup", schedule.warmup, std::min<std::int64_t>(100, schedule.steps / 10));
  const std::int64_t tenth = std::max<std::int64_t>(1, schedule.steps / 10);
  usual("eval_every", settings.eval_every, tenth);
  const std::int64_t batch = std::min<std::int64_t>(settings.batch, std::numeric_limits<std::int32_t>::max());
  usual("eval_windows", settings.eval_windows, 32 * batch * settings.ranks);  // a larger batch is refused
  usual("save_every", settings.save_every, tenth);
  usual("layers_every", settings.layers_every, std::max<std::int64_t>(1, schedule.steps / 100));
  usual("sample", settings.sample, std::string(settings.text.empty() && settings.tokens.empty() ? "One day" : "\n"));
  return settings;
}

// The saved settings with what may change as it was asked for; a UsageError names what may not and does.
Settings resumed_settings(const RunRequest& request, const Settings& asked, const Settings& saved) {
  Json settings = to_json(saved);
  const Json wanted = to_json(asked);
  std::vector<std::string> differences;
  for (const std::string& key : request.given) {
    if (wanted[key] == settings[key]) continue;
    if (!may_change(key)) {
      differences.push_back(fmt::format("`{}` is {} here and {} there", key, wanted[key].dump(), settings[key].dump()));
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

TrainedTokenizer make_tokenizer(const RunRequest& request, const Settings& settings, std::int64_t tokens) {
  TokenizerTraining options;
  options.vocab_size = tokens;
  options.threads = request.threads;
  check_options(options);
  if (settings.text.empty()) {
    const std::string text = stories(0, DataOptions().story_bytes);
    const std::string_view view = text;
    return train_tokenizer({&view, 1}, options, request.tokenizer_progress);
  }
  const std::vector<fs::path> paths(settings.text.begin(), settings.text.end());
  const TextFiles files(paths);
  if (files.bytes() == 0) {
    throw Error(fmt::format("{}: is empty; expected text to train on", fmt::join(settings.text, " and ")));
  }
  return train_tokenizer(files.texts(), options, request.tokenizer_progress);
}

// "train:N" is a tokenizer that is trained now. Returns the text of its tokenizer.json.
std::string tokenizer_text(const RunRequest& request, const Settings& settings, std::int64_t model_vocab) {
  if (!settings.tokenizer.starts_with("train:")) return write_tokenizer_json(read_tokenizer(settings.tokenizer));
  const std::int64_t tokens = request.given.contains("tokenizer") ? request.trained_vocab : model_vocab;
  return write_tokenizer_json(make_tokenizer(request, settings, tokens).spec);
}

// Weights, gradients and moments alone, whatever the batch.
void check_lasting_memory(const Model& model, std::int64_t memory) {
  Workload one = workload_of(Phase::train);
  one.tokens = 1;
  check_memory("the weights, gradients and moments of " + model.name, count(model, one).state.total(), memory);
}

// The model that was named.
struct Asked {
  Model model;
  Json config;               // of the model before any changes
  ModelLocation location;    // with weights: it is trained further
  std::int64_t context = 0;  // of the windows that it learns from
};

Asked asked_model(const RunRequest& request, bool leads) {
  const auto [described, config] = load_described(request.settings.model);
  check_trainable(described);
  for (const std::string& sentence : described.notes) {
    if (leads) note(request, fmt::format("{}: {}", described.name, sentence));
  }
  if (const std::string_view frozen = what_stays_frozen(described); leads && !frozen.empty())
    note(request, fmt::format("{}: {}", described.name, frozen));
  const ModelLocation location = locate_model(request.settings.model);
  Changes changes = request.changes;
  const std::optional<std::int64_t> context = changes.context;
  const bool weights = !location.weights.empty();
  if (location.gguf)
    throw UsageError(
        fmt::format("{}: training goes on from a folder with safetensors, not from a GGUF file", described.name));
  if (weights) changes.context.reset();  // shorter windows, the same model
  const Model model = modify(described, changes);
  check_no_encoder(model);
  if (weights && !(model == described))
    throw UsageError("a model with weights cannot be changed; leave the options out");
  Asked asked{model, config, location, context.value_or(model.context)};
  if (asked.context > model.context) {
    throw UsageError(fmt::format("{} tokens are more than the context of {}, {}", grouped(asked.context), model.name,
                                 grouped(model.context)));
  }
  return asked;
}

// A tokenizer of one's own choice says how large the vocabulary is; where that is settled, it must have room for it.
void fit_vocabulary(Asked& asked, const RunRequest& request, const Settings& settings, const std::string& tokenizer,
                    bool begins) {
  const std::optional<std::int64_t> vocab = request.changes.vocab;
  const Tokenizer read(parse_tokenizer_json(tokenizer, "tokenizer.json"));
  const auto tokens = static_cast<std::int64_t>(read.size());  // special tokens included
  if (request.given.contains("tokenizer") && !vocab && asked.location.weights.empty()) {
    Changes changes;
    changes.vocab = tokens;
    asked.model = modify(asked.model, changes);
  }
  if (!begins || tokens <= asked.model.vocab_size) return;
  throw UsageError(fmt::format("the tokenizer {} has {} tokens, but {} is {}", settings.tokenizer, grouped(tokens),
                               vocab ? "`vocab`" : "the model's vocabulary", grouped(asked.model.vocab_size)));
}

// From these files, or where the path is empty, random ones.
Weights first_weights(const Model& model, const Settings& settings, const fs::path& files) {
  if (!files.empty()) return Weights::load(model, files);
  const Initialisation init = settings.init == "scaled" ? Initialisation::scaled : Initialisation::gpt2;
  return Weights::initial(model, init, settings.seed);
}

// The ids of a text that is not where it was, as the run keeps them in data/: such a run goes on from its folder alone.
fs::path kept_tokens(const Checkpoint& checkpoint, const fs::path& data) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(data, none)) {
    if (is_token_file(entry.path()) && hash_of_file(entry.path()) == checkpoint.identity.data) return entry.path();
  }
  return {};
}

DataOptions data_options(const Settings& settings, const Model& model, const fs::path& run,
                         const std::optional<Checkpoint>& checkpoint) {
  DataOptions options;
  options.tokenizer.clear();
  options.vocab_size = model.vocab_size;
  options.cache = run / "data";
  options.validation = settings.validation;
  options.context = settings.context;
  options.seed = settings.seed;
  options.paths.assign(settings.text.begin(), settings.text.end());
  if (!settings.tokens.empty()) {
    if (fs::exists(settings.tokens) && !is_token_file(settings.tokens)) {
      throw Error(fmt::format("{}: is no token file; text is given with `text`", settings.tokens));
    }
    options.paths = {settings.tokens};
  }
  const auto is_there = [](const fs::path& path) { return fs::exists(path); };
  if (checkpoint && !std::all_of(options.paths.begin(), options.paths.end(), is_there)) {
    if (const fs::path kept = kept_tokens(*checkpoint, options.cache); !kept.empty()) options.paths = {kept};
  }
  return options;
}

}  // namespace

fs::path run_path(const RunRequest& request) {
  validate(with_usual_values(request));  // before a folder is made
  if (request.out.empty()) {
    if (request.resume) throw UsageError("`resume` needs `out`: the folder of the run to go on with");
    if (request.settings.model.empty()) throw UsageError("no model was named; expected a preset or a path");
    const std::string name =
        request.settings.model == "-" ? "" : fs::path(request.settings.model).lexically_normal().filename().string();
    for (int number = 1;; ++number) {
      fs::path path = fs::path("runs") / fmt::format("{}-{}", name.empty() ? "model" : name, number);
      std::error_code error;
      if (!fs::exists(path / "metrics.jsonl", error)) return path;
    }
  }
  if (!request.resume && !saved_steps(request.out).empty()) {
    throw UsageError(fmt::format("{} holds a run already; `resume` goes on with it, or name another folder",
                                 quote(request.out.string())));
  }
  if (request.resume && request.settings.model.empty() && saved_steps(request.out).empty()) {
    throw UsageError(fmt::format("{} holds no checkpoint to go on from; without `resume` a run begins there",
                                 quote(request.out.string())));
  }
  return request.out;
}

std::optional<Checkpoint> find_checkpoint(const RunRequest& request, const fs::path& run) {
  if (!request.resume) return std::nullopt;
  std::vector<SavedStep> steps = saved_steps(run);
  for (; !steps.empty(); steps.pop_back()) {
    try {
      return read_checkpoint(steps.back().folder);
    } catch (const Error& error) {
      if (!request.fall_back) {
        throw Error(fmt::format("{}{}", error.what(),
                                steps.size() > 1 ? "; `fall_back` goes on from the checkpoint before it" : ""));
      }
      note(request, fmt::format("{}; falling back", error.what()));
    }
  }
  return std::nullopt;
}

Prepared prepare(const RunRequest& request, const std::optional<Checkpoint>& checkpoint, const fs::path& run,
                 bool leads) {
  const fs::path tokenizer_file = run / "tokenizer.json";
  Settings settings = with_usual_values(request);
  if (checkpoint) settings = resumed_settings(request, settings, checkpoint->identity.settings);
  if (checkpoint && settings.schedule.steps < checkpoint->progress.step) {
    throw UsageError(fmt::format("`steps` is {}; the run has done {} already", grouped(settings.schedule.steps),
                                 grouped(checkpoint->progress.step)));
  }
  if (!settings.tokens.empty() && !settings.text.empty()) throw UsageError("give either `text` or `tokens`");

  std::optional<Asked> asked;
  std::string tokenizer = checkpoint ? checkpoint->identity.tokenizer : "";
  if (!request.settings.model.empty()) {
    asked = asked_model(request, leads);
    if (!checkpoint) {
      settings.context = asked->context;
      if (settings.tokenizer.empty() && settings.tokens.empty()) {
        settings.tokenizer = asked->location.weights.empty() ? fmt::format("train:{}", asked->model.vocab_size)
                                                             : asked->location.tokenizer();
      }
      if (!settings.tokenizer.empty()) {
        tokenizer = leads ? tokenizer_text(request, settings, asked->model.vocab_size)
                          : read_text(tokenizer_file, largest_tokenizer);
      }
    }
    if (!tokenizer.empty()) fit_vocabulary(*asked, request, settings, tokenizer, !checkpoint.has_value());
  }

  Prepared prepared;
  if (asked) prepared.identity.config = changed_config(asked->config, asked->model).dump(2) + "\n";
  if (checkpoint) {
    if (asked)
      check_same_model(parse_json(prepared.identity.config, "config.json"),
                       parse_json(checkpoint->identity.config, checkpoint->folder.string()));
    prepared.identity.config = checkpoint->identity.config;
    prepared.model = read_config(parse_json(prepared.identity.config, "config.json"), checkpoint->folder.string());
  } else {
    prepared.model = asked->model;
  }
  check_lasting_memory(prepared.model, request.memory);
  prepared.weights =
      first_weights(prepared.model, settings, asked && !checkpoint ? asked->location.weights : fs::path());
  prepared.data = data_options(settings, prepared.model, run, checkpoint);
  if (!tokenizer.empty()) {
    if (leads) atomic_write(tokenizer_file, tokenizer);
    prepared.data.tokenizer = tokenizer_file.string();
  }
  prepared.identity.settings = settings;
  prepared.identity.tokenizer = tokenizer;
  return prepared;
}

}  // namespace reckon
