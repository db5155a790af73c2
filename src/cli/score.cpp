// reckon score: how well a model predicts a sequence of tokens.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "files/read_text.h"
#include "report/numbers.h"
#include "run/engine.h"
#include "run/score.h"

namespace reckon::cli {
namespace {

struct ScoreOptions {
  RunOptions run;
  std::string ids, ids_file;
  std::int64_t context = 0, stride = 0;
  Output output;
};

void run(const ScoreOptions& asked) {
  if (asked.ids.empty() == asked.ids_file.empty()) throw UsageError("give either --ids or --ids-file");
  constexpr std::uint64_t largest = std::uint64_t{1} << 32;
  const std::vector<std::int32_t> ids = parse_ids(asked.ids.empty() ? read_text(asked.ids_file, largest) : asked.ids);
  Loaded loaded = load(asked.run);
  EngineOptions options;
  options.threads = asked.run.threads;
  options.capacity =
      std::min(asked.context > 0 ? asked.context : loaded.model.context, static_cast<std::int64_t>(ids.size()));
  check_length(loaded.model, options.capacity);
  const std::string name = loaded.model.name;
  Engine engine(std::move(loaded.model), std::move(loaded.weights), options);
  Scoring scoring;
  scoring.stride = asked.stride;
  const bool bar = isatty(STDERR_FILENO) != 0;
  const Score result = score(engine, ids, scoring, [&](const Score& so_far, std::int64_t all) {
    if (bar) {
      fmt::print(stderr, "\r{} of {} tokens, loss {:.4f}", grouped(so_far.tokens), grouped(all), so_far.loss());
      std::fflush(stderr);
    }
    return true;
  });
  if (bar) fmt::print(stderr, "\r\033[K");
  Document document;
  Table table;
  table.title = fmt::format("{} on {} tokens", name, grouped(static_cast<std::int64_t>(ids.size())));
  table.columns = {{"tokens scored", true}, {"loss (nats per token)", true}, {"perplexity", true}};
  table.rows.push_back(
      {grouped(result.tokens), fmt::format("{:.6f}", result.loss()), fmt::format("{:.4f}", result.perplexity())});
  document.parts.push_back(table);
  document.json = {{"schema", "reckon.score/1"}, {"model", name},         {"tokens", result.tokens},
                   {"nll", result.nll},          {"loss", result.loss()}, {"perplexity", result.perplexity()},
                   {"context", options.capacity}};
  write_report(document, asked.output);
}

}  // namespace

void add_score(CLI::App& program) {
  const auto asked = std::make_shared<ScoreOptions>();
  CLI::App& command = add_command(program, "score", "loss and perplexity of a sequence of tokens",
                                  "  reckon score ./model --ids 1,15,27,8\n"
                                  "  reckon score ./model --ids-file text.ids --context 512 --stride 256",
                                  false);
  add_run(command, asked->run);
  command.add_option("--ids", asked->ids, "the text, as ids")->type_name("1,2,3");
  command.add_option("--ids-file", asked->ids_file, "a file of ids, separated by commas or spaces")->type_name("FILE");
  expect_within(
      *command.add_option("--context", asked->context, "tokens of a window (the model's context)")->type_name("N"), 1);
  expect_within(
      *command.add_option("--stride", asked->stride, "how far the window slides (half of it)")->type_name("N"), 1);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
