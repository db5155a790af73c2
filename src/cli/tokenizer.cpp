// reckon tokenizer train: a vocabulary from text.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "files/atomic_write.h"
#include "files/numbers.h"
#include "report/progress.h"
#include "report/tokens.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "text/train.h"
#include "threads/thread_count.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  std::vector<std::string> files;
  std::string folder;
  TokenizerTraining training;
  int threads = 0;
  Output output;
};

void run(const TrainOptions& asked) {
  TokenizerTraining options = asked.training;
  options.threads = thread_count(asked.threads);
  check_file(asked.output.file);
  guard_mapped_files();
  check_options(options);
  const std::vector<fs::path> paths(asked.files.begin(), asked.files.end());
  const TextFiles files(paths);
  if (files.bytes() == 0) throw Error(fmt::format("{}: is empty; expected text to train on", asked.files.front()));
  make_folder(asked.folder);  // before the work, so that it is not done for a folder that cannot be

  const auto begin = std::chrono::steady_clock::now();
  ProgressLine progress;
  const TrainedTokenizer trained = train_tokenizer(files.texts(), options, [&](const TokenizerTrainingProgress& now) {
    progress.show(now.phase == TokenizerTrainingProgress::Phase::counting ? "counting words" : "merging", now.done,
                  now.total);
  });
  progress.clear();
  const fs::path file = fs::path(asked.folder) / "tokenizer.json";
  atomic_write(file, write_tokenizer_json(trained.spec));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  if (std::ssize(trained.spec.tokens) < options.vocab_size) {
    note(fmt::format("no pair is left to merge: {} tokens of the {} asked for were made",
                     grouped(std::ssize(trained.spec.tokens)), grouped(options.vocab_size)));
  }
  write_report(trained_tokenizer_document(trained, {file.string(), options.vocab_size, seconds}), asked.output);
}

}  // namespace

void add_tokenizer(CLI::App& program) {
  const auto asked = std::make_shared<TrainOptions>();
  CLI::App& tokenizer = add_command(program, "tokenizer", "train a tokenizer on your own text",
                                    "  reckon tokenizer train book.txt --vocab 8192 --out mine", false);
  tokenizer.require_subcommand(1);
  CLI::App& train = add_command(tokenizer, "train", "byte-level BPE: merges the most frequent pair again and again",
                                "  reckon tokenizer train book.txt --vocab 8192 --out mine\n"
                                "  reckon tokenizer train part-*.txt --vocab 32k --special '<|endoftext|>' --out mine");
  train.add_option("FILES", asked->files, "text files, or folders of them; any bytes will do")
      ->required()
      ->type_name("");
  add_size(train, "--vocab", asked->training.vocab_size, "tokens to make, special tokens and the 256 bytes included",
           {})
      .required();
  train.add_option("--out", asked->folder, "folder for the tokenizer.json; made if need be")
      ->required()
      ->type_name("FOLDER");
  train
      .add_option("--special", asked->training.special_tokens,
                  "a token that the text is cut at, never merged across; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  add_choice(
      train, "--splitter", asked->training.splitter, "how text is cut into words (gpt2)",
      {{"gpt2", Splitter::gpt2}, {"cl100k", Splitter::cl100k}, {"qwen2", Splitter::qwen2}, {"o200k", Splitter::o200k}});
  add_size(train, "--min-frequency", asked->training.min_frequency, "how often a pair must occur to be merged (1)", {});
  add_threads(train, asked->threads);
  add_output(train, asked->output);
  train.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
