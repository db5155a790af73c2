// reckon score: how well a model predicts a text.
#include "report/score.h"

#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "report/progress.h"
#include "run/engine.h"
#include "run/score.h"

namespace reckon::cli {
namespace {

struct ScoreOptions {
  RunOptions run;
  std::string file, ids, ids_file, tokenizer;
  std::int64_t context = 0, stride = 0;
  Output output;
};

struct Text {
  std::vector<std::int32_t> ids;
  std::optional<std::int64_t> bytes;  // of what is predicted; none where only ids are known
};

Text read(const ScoreOptions& asked, const Model& model) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 32;
  if (!asked.ids.empty()) return {parse_ids(asked.ids), {}};
  if (!asked.ids_file.empty()) return {parse_ids(read_text(asked.ids_file, largest), "--ids-file"), {}};
  const Tokenizer tokenizer = model_tokenizer(asked.tokenizer, asked.run.model, ", or ids with --ids");
  const TextInput input(asked.file);
  if (input.text().empty()) throw UsageError(quote(asked.file) + " is empty; expected a text to score");
  Text text{tokenizer.encode(input.text()), {}};
  check_vocabulary(text.ids, tokenizer, model);
  // Nothing predicts the first token. Where it is one that the tokenizer adds, <s> say, that leaves the whole text.
  const std::span<const std::int32_t> first = std::span(text.ids).first(std::min<std::size_t>(text.ids.size(), 1));
  const std::int64_t bytes = std::ssize(input.text()) - std::ssize(tokenizer.decode(first, true));
  if (bytes > 0) text.bytes = bytes;
  return text;
}

void run(const ScoreOptions& asked) {
  const int given = !asked.file.empty() + !asked.ids.empty() + !asked.ids_file.empty();
  if (given != 1) throw UsageError("give one of FILE, --ids and --ids-file: the text to score");
  check_output(asked.output);
  Loaded loaded = load(asked.run);
  const Text text = read(asked, loaded.model);
  EngineOptions options;
  options.threads = asked.run.threads;
  const auto length = static_cast<std::int64_t>(text.ids.size());
  if (length < 2) throw UsageError("a text of a single token has nothing to predict; expected two or more");
  options.capacity = std::min(longest_run(loaded.model, asked.context), length);
  Engine engine(std::move(loaded.model), std::move(loaded.weights), options);
  ProgressLine progress;
  const Score result = score(engine, text.ids, {.stride = asked.stride}, [&](const Score& so_far, std::int64_t all) {
    progress.show("scoring", so_far.tokens, all);
    return true;
  });
  progress.clear();
  write_report(score_document(engine.model().name, result, text.bytes, options.capacity), asked.output);
}

}  // namespace

void add_score(CLI::App& program) {
  const auto asked = std::make_shared<ScoreOptions>();
  CLI::App& command = add_command(program, "score", "loss, perplexity and bits per byte of a text",
                                  "  reckon score ./model book.txt\n"
                                  "  reckon score ./model book.txt --context 512 --stride 256 --format json\n"
                                  "  reckon score gpt2 --random 1 - < book.txt\n"
                                  "  reckon score ./model --ids 1,15,27,8",
                                  false);
  add_run(command, asked->run);
  command.add_option("FILE", asked->file, "the text (-: standard input)")->type_name("");
  add_tokenizer_option(command, asked->tokenizer);
  command.add_option("--ids", asked->ids, "the text as ids")->type_name("1,2,3");
  command.add_option("--ids-file", asked->ids_file, "a file of ids, separated by commas or spaces")->type_name("FILE");
  add_context(command, asked->context);
  expect_within(
      *command.add_option("--stride", asked->stride, "how far the window slides (half of it)")->type_name("N"), 1);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
