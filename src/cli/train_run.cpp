// Puts a run together: its folder, model, tokenizer and data, then the loop with its view.
#include "cli/train_run.h"

#include <fmt/format.h>
#include <reckon/generate.h>
#include <reckon/reckon.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>

#include "cli/interrupt.h"
#include "cli/run_options.h"
#include "cli/train_setup.h"
#include "count/ledger.h"
#include "files/numbers.h"
#include "processes/communicator.h"
#include "report/text.h"
#include "report/train_view.h"
#include "report/training_page.h"
#include "run/limits.h"
#include "threads/thread_count.h"
#include "train/file_hash.h"
#include "train/training_loop.h"
#include "train/stories.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Recompute recompute_of(const std::string& word) {
  if (word == "block") return Recompute::block;
  return recompute_word(word) == "selective" ? Recompute::selective : Recompute::none;
}

TrainerOptions trainer_options(const Settings& settings, const TrainCommand& command) {
  TrainerOptions options;
  options.device = command.device;
  options.threads = command.threads;
  options.batch = settings.batch;
  options.tokens = settings.context;
  options.recompute = recompute_of(settings.recompute);
  options.precision = settings.precision == "bfloat16" ? DType::bfloat16 : DType::float32;
  options.dropout = settings.dropout;
  options.seed = settings.seed;
  options.cancel = &interrupt_flag();
  return options;
}

RunFacts facts_of(Trainer& trainer, const Settings& settings) {
  RunFacts facts;
  facts.name = settings.model == "-" ? "stdin" : settings.model;
  for (const TrainedTensor& tensor : trainer.tensors()) facts.parameters += tensor.elements;
  facts.batch = settings.batch;
  facts.context = settings.context;
  facts.accumulate = settings.accumulate;
  const Ledger ledger = read_ledger(trainer.executable().program());
  const TrainingState& state = ledger.state;
  facts.weight_bytes = static_cast<std::int64_t>(state.weights);
  facts.gradient_bytes = static_cast<std::int64_t>(state.gradients);
  facts.moment_bytes = static_cast<std::int64_t>(state.moments);
  facts.sent_bytes = static_cast<std::int64_t>(ledger.total().sent);
  facts.arena_bytes = trainer.executable().plan().arena;
  return facts;
}

// The first line of the metrics, and of each time that the run is resumed: what was chosen, and what is predicted.
Json first_line(const RunFacts& facts, const Settings& settings, const Dataset& data, const Loop& loop,
                std::optional<double> limit) {
  return {{"kind", "run"},
          {"step", loop.progress().step},
          {"model", facts.name},
          {"parameters", facts.parameters},
          {"data", data.description()},
          {"training_tokens", data.training_tokens()},
          {"validation_tokens", data.validation_tokens()},
          {"step_matmul_flops", loop.step_flops()},
          {"limit_gflops_per_second", limit ? Json(*limit / 1e9) : Json(nullptr)},
          {"bytes",
           {{"weights", facts.weight_bytes},
            {"gradients", facts.gradient_bytes},
            {"moments", facts.moment_bytes},
            {"arena", facts.arena_bytes},
            {"sent", facts.sent_bytes}}},
          {"settings", to_json(settings)}};
}

std::string sample_text(Trainer& trainer, const Tokenizer& tokenizer, const Settings& settings) {
  constexpr std::int64_t tokens = 200;
  const std::vector<std::int32_t> prompt = tokenizer.encode(settings.sample);
  EngineOptions options;
  options.device = trainer.options().device;
  options.threads = trainer.options().threads;
  options.capacity = std::min<std::int64_t>(settings.context, std::ssize(prompt) + tokens);
  Engine engine(trainer.model(), trainer.weights(), options);
  Generation generation;
  generation.tokens = tokens;
  generation.window = true;
  generation.sampling.temperature = 0.8;
  generation.sampling.seed = settings.seed;
  const Generated generated = generate(engine, prompt, generation);
  std::vector<std::int32_t> all = prompt;
  all.insert(all.end(), generated.continuations[0].ids.begin(), generated.continuations[0].ids.end());
  // The vocabulary of a model may be the larger one: such ids have no text.
  std::erase_if(all, [&](std::int32_t id) { return id >= static_cast<std::int64_t>(tokenizer.size()); });
  return tokenizer.decode(all, true);
}

// Over all that is held out, if the run's own evaluations were over less.
std::optional<double> whole_validation(Trainer& trainer, const Dataset& data, const Settings& settings,
                                       const Progress& progress) {
  const std::int64_t all = data.validation_windows();
  if (all == 0 || settings.eval_windows == 0 || settings.eval_windows >= all) return progress.validation;
  return validation_loss(trainer, data);
}

// `reckon generate` with the checkpoint, such that it works: with --window where the context is short.
std::string generate_command(const fs::path& folder, const Settings& settings, const Tokenizer* tokenizer) {
  constexpr std::int64_t tokens = 100;
  const std::string prompt = settings.sample.find_first_not_of(" \n") == std::string::npos ? "Once" : settings.sample;
  const std::int64_t length = tokenizer != nullptr ? std::ssize(tokenizer->encode(prompt)) : 1;
  return fmt::format("reckon generate {} {} --tokens {}{}", folder.string(),
                     tokenizer != nullptr ? "\"" + prompt + "\"" : "--ids 1", tokens,
                     length + tokens > settings.context ? " --window" : "");
}

bool on_stories(const Settings& settings) { return settings.text.empty() && settings.tokens.empty(); }

// How to go on with a run: as many processes as began it.
std::string resume_command(const Settings& settings, const fs::path& run) {
  const std::string launch = settings.ranks > 1 ? fmt::format("mpirun -n {} ", settings.ranks) : "";
  return fmt::format("{}reckon train --resume --out {}", launch, run.string());
}

void say_end(const Progress& progress, std::optional<double> validation, const fs::path& folder,
             const std::string& sample, const Settings& settings, const Tokenizer* tokenizer) {
  const auto lines = [](const std::string& sentence) {
    return fmt::format("\n{}\n", fmt::join(wrap(sentence, this_terminal().width, Breaks::words), "\n"));
  };
  std::string result =
      fmt::format("{} steps in {:.1f} s: loss {:.4f}", grouped(progress.step), progress.seconds, progress.loss);
  if (validation) result += fmt::format(", validation {:.4f} over all that is held out", *validation);
  if (progress.best_validation && progress.best_step != progress.step) {
    result += fmt::format("; the best checkpoint is that of step {}", grouped(progress.best_step));
  }
  std::string out = lines(result);
  if (!sample.empty()) out += "\n" + sample + "\n";
  if (!sample.empty() && on_stories(settings)) {
    out += lines(fmt::format("Of its sentences, {} are such as the grammar of the stories writes.",
                             percent(accepted_share(sample), 0)));
  }
  const fs::path run = folder.parent_path().parent_path();
  out += "\nNext:\n";
  out += fmt::format("  {}\n", generate_command(folder, settings, tokenizer));
  out += fmt::format("  reckon report {}\n", run.string());
  out += fmt::format("  {} --steps {}\n", resume_command(settings, run), 2 * progress.step);
  write_foreign_text(out);
}

// The path that rank 0 has.
fs::path shared_path(Communicator& ranks, const fs::path& path) {
  std::string text = path.string();
  std::uint64_t length = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  ranks.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

struct Setup {
  std::optional<Checkpoint> checkpoint;
  Prepared prepared;
  Dataset data;
};

Setup set_up(const TrainCommand& command, const fs::path& run, const Communicator& ranks) {
  std::optional<Checkpoint> checkpoint = find_checkpoint(command, run);
  Prepared prepared = prepare(command, checkpoint, run, ranks.leads());
  DataOptions options = prepared.data;
  options.threads = command.threads;
  options.rank = ranks.rank();
  options.ranks = ranks.size();
  Setup setup{std::move(checkpoint), std::move(prepared), Dataset(options)};
  std::string& data = setup.prepared.identity.data;
  data = hash_of_file(setup.data.token_file());
  if (setup.checkpoint && setup.checkpoint->identity.data != data) {
    throw Error(
        fmt::format("{}: the data are not those that the run began with: {}", run.string(), setup.data.description()));
  }
  const Tokenizer* tokenizer = setup.data.tokenizer();
  if (tokenizer != nullptr && tokenizer->encode(setup.prepared.identity.settings.sample).empty()) {
    throw UsageError("--sample is empty, and the tokenizer begins a text with no token of its own; expected some text");
  }
  return setup;
}

Progress progress_of(const std::optional<Checkpoint>& checkpoint) {
  return checkpoint ? checkpoint->progress : Progress{};
}

// The promise of the same bytes holds where the arithmetic is the same.
void note_other_arithmetic(const Checkpoint& checkpoint, const Arithmetic& here) {
  if (!checkpoint.arithmetic || *checkpoint.arithmetic == here) return;
  note(
      fmt::format("the checkpoint was made with {}, and this machine has {}: the run goes on, but to other last bits "
                  "than it would have come to there",
                  to_string(*checkpoint.arithmetic), to_string(here)));
}

// As Loop::run(); signals ask it to save and come back.
bool run_until_interrupted(Loop& loop) {
  const InterruptHandler handler;
  return loop.run();
}

// Trains beside rank 0, which prints and writes.
void follow(const TrainCommand& command, Communicator& ranks) {
  const fs::path run = shared_path(ranks, {});
  Setup setup = set_up(command, run, ranks);
  const Settings& settings = setup.prepared.identity.settings;
  Trainer trainer(setup.prepared.model, std::move(*setup.prepared.weights), trainer_options(settings, command), &ranks);
  if (setup.checkpoint) restore(trainer, *setup.checkpoint);
  Loop loop(trainer, setup.data, setup.prepared.identity, progress_of(setup.checkpoint), nullptr, nullptr, {});
  if (run_until_interrupted(loop)) whole_validation(trainer, setup.data, settings, loop.progress());
}

void lead(const TrainCommand& command, Communicator& ranks) {
  RunFolder run(run_path(command));
  check_file(command.report);
  Setup setup = set_up(command, run.path(), ranks);
  shared_path(ranks, run.path());  // now the others find all that was prepared
  const std::optional<Checkpoint>& checkpoint = setup.checkpoint;
  const Settings& settings = setup.prepared.identity.settings;
  const Dataset& data = setup.data;
  Trainer trainer(setup.prepared.model, std::move(*setup.prepared.weights), trainer_options(settings, command), &ranks);
  if (checkpoint) {
    note_other_arithmetic(*checkpoint, trainer.backend().arithmetic());
    restore(trainer, *checkpoint);
  }

  const RunFacts facts = facts_of(trainer, settings);
  const Progress from = progress_of(checkpoint);
  MetricsFile metrics(run.metrics(), checkpoint ? from.step : -1);
  // mpirun gives rank 0 a terminal of its own, wherever its output goes.
  const bool live = ::isatty(STDOUT_FILENO) != 0 && this_terminal().color && ranks.size() == 1;
  TrainView view(facts, live_terminal, live, write_text);
  if (checkpoint) view.recall(read_metrics(run.metrics()));

  // What one large product reaches on the same threads, in turns with the steps. Of several ranks, one alone would
  // measure itself against those that wait for it.
  const Backend::Measure product = trainer.backend().product_limit();
  const bool alone = ranks.size() == 1 && product;
  Limit limit(product);

  fs::path saved;
  std::string sample;
  LoopEvents events;
  events.step = [&](const StepReport& report) {
    view.step(report);
    const std::optional<double> rate = alone ? limit.turn() : std::nullopt;
    if (!rate) return;
    metrics.add({{"kind", "limit"}, {"step", report.step}, {"gflops_per_second", *rate / 1e9}});
    view.limit(limit.spread());
  };
  events.evaluation = [&](const EvaluationReport& report) { view.evaluation(report); };
  events.saved = [&](std::int64_t, const fs::path& folder) { saved = folder; };
  if (data.tokenizer() != nullptr) {
    events.sample = [&](std::int64_t) { return sample_text(trainer, *data.tokenizer(), settings); };
    events.sampled = [&](std::int64_t, const std::string& text) { sample = text; };
  }
  Loop loop(trainer, data, setup.prepared.identity, from, &run, &metrics, events);
  metrics.add(first_line(facts, settings, data, loop, alone ? limit.turn() : std::nullopt));
  if (!live) {
    write_text(fmt::format("{} · {} parameters · {} · {}{}\n", facts.name, grouped(facts.parameters),
                           data.description(), run.path().string(),
                           checkpoint ? fmt::format(" · goes on after step {}", grouped(from.step)) : ""));
  }
  run.keep();
  const bool finished = run_until_interrupted(loop);
  view.finish();
  if (!finished) {
    throw Error(fmt::format("interrupted after step {}, which is saved; `{}` goes on", grouped(loop.progress().step),
                            resume_command(settings, run.path())));
  }
  if (saved.empty()) saved = checkpoint->folder;
  const std::optional<double> validation = whole_validation(trainer, data, settings, loop.progress());
  metrics.add({{"kind", "end"},
               {"step", loop.progress().step},
               {"validation", validation ? Json(*validation) : Json(nullptr)},
               {"seconds", loop.progress().seconds},
               {"arena_high_water_bytes", trainer.executable().arena().high_water()},
               {"sent_bytes", ranks.bytes_sent()}});
  metrics.flush();
  say_end(loop.progress(), validation, saved, sample, settings, data.tokenizer());
  if (!command.report.empty()) write_file(command.report, training_page(read_metrics(run.metrics())));
}

}  // namespace

void run_training(TrainCommand command) {
  guard_mapped_files();
  Communicator ranks;
  command.settings.ranks = ranks.size();
  command.threads = thread_count(command.threads, ranks.neighbours());
  if (ranks.leads()) return lead(command, ranks);
  try {
    follow(command, ranks);
  } catch (const Error& error) {
    throw Error(fmt::format("rank {}: {}", ranks.rank(), error.what()));
  }
}

}  // namespace reckon::cli
