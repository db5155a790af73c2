// Puts a run together: its folder, model, tokenizer and data, then the loop with its view.
#include "cli/train_run.h"

#include <fmt/format.h>
#include <reckon/reckon.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>

#include "cli/interrupt.h"
#include "cli/run_options.h"
#include "cli/sizes.h"
#include "files/numbers.h"
#include "model/validate.h"
#include "processes/communicator.h"
#include "report/progress.h"
#include "report/text.h"
#include "report/train_view.h"
#include "report/training_page.h"
#include "threads/thread_count.h"
#include "train/run.h"
#include "train/stories.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;

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

// As Loop::run(); signals ask it to save and come back.
bool run_until_interrupted(Loop& loop) {
  const InterruptHandler handler;
  return loop.run();
}

RunRequest request_of(const TrainCommand& command) {
  RunRequest request;
  request.settings = command.settings;
  request.given = command.given;
  request.changes = read_options(command.changes).changes;
  request.out = command.out;
  request.resume = command.resume;
  request.fall_back = command.fall_back;
  constexpr std::string_view train = "train:";
  if (command.settings.tokenizer.starts_with(train)) {
    request.trained_vocab =
        parse_size(command.settings.tokenizer.substr(train.size()), "--tokenizer train:N", {257, largest_size});
  }
  request.threads = command.threads;
  request.device = command.device;
  request.cancel = &interrupt_flag();
  request.note = [](const std::string& sentence) { note(printable(sentence)); };
  return request;
}

void lead(const TrainCommand& command, RunRequest request, Communicator& ranks) {
  ProgressLine progress;
  request.tokenizer_progress = [&](const TokenizerTrainingProgress& now) {
    progress.show(
        now.phase == TokenizerTrainingProgress::Phase::counting ? "tokenizer: counting words" : "tokenizer: merging",
        now.done, now.total);
  };
  RunFolder folder(run_path(request));
  check_file(command.report);
  Run run(request, &folder, &ranks);
  progress.clear();

  // mpirun gives rank 0 a terminal of its own, wherever its output goes.
  const bool live = ::isatty(STDOUT_FILENO) != 0 && this_terminal().color && ranks.size() == 1;
  TrainView view(run.facts(), live_terminal, live, write_text);
  view.recall(run.earlier());
  run.events.step = [&](const StepReport& report) { view.step(report); };
  run.events.evaluation = [&](const EvaluationReport& report) { view.evaluation(report); };
  run.events.limit = [&](const std::optional<Spread>& spread) { view.limit(spread); };
  if (!live) {
    write_text(fmt::format("{} · {} parameters · {} · {}{}\n", run.facts().name, grouped(run.facts().parameters),
                           run.data().description(), run.path().string(),
                           run.resumed() ? fmt::format(" · goes on after step {}", grouped(run.began_at())) : ""));
  }
  const bool finished = run_until_interrupted(run.loop());
  view.finish();
  const Progress& reached = run.loop().progress();
  if (!finished) {
    throw Error(fmt::format("interrupted after step {}, which is saved; `{}` goes on", grouped(reached.step),
                            resume_command(run.settings(), run.path())));
  }
  const std::optional<double> validation = run.finish();
  say_end(reached, validation, run.last_checkpoint(), run.last_sample(), run.settings(), run.data().tokenizer());
  if (!command.report.empty()) write_file(command.report, training_page(read_metrics(folder.metrics())));
}

// Trains beside rank 0, which prints and writes.
void follow(const RunRequest& request, Communicator& ranks) {
  Run run(request, nullptr, &ranks);
  if (run_until_interrupted(run.loop())) run.finish();
}

}  // namespace

void run_training(TrainCommand command) {
  guard_mapped_files();
  Communicator ranks;
  command.settings.ranks = ranks.size();
  command.threads = thread_count(command.threads, ranks.neighbours());
  const RunRequest request = request_of(command);
  if (ranks.leads()) return lead(command, request, ranks);
  try {
    follow(request, ranks);
  } catch (const Error& error) {
    throw Error(fmt::format("rank {}: {}", ranks.rank(), error.what()));
  }
}

}  // namespace reckon::cli
