// reckon logits: the scores of every next token, a row per position.
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "report/run.h"
#include "run/engine.h"
#include "run/logits.h"

namespace reckon::cli {
namespace {

struct LogitsOptions {
  RunOptions run;
  std::string ids;
  std::int64_t context = 0;
  Output output;
};

void run(const LogitsOptions& asked) {
  const std::vector<std::int32_t> ids = parse_ids(asked.ids);
  check_file(asked.output.file);
  Model model = model_to_run(asked.run);
  EngineOptions options = engine_options(asked.run);
  options.capacity = static_cast<std::int64_t>(ids.size());
  const std::int64_t vocabulary = model.vocab_size, room = longest_run(model, asked.context);
  check_length(model, options.capacity, room, room_hint(model));
  const InterruptHandler handler;
  Weights weights = weights_to_run(asked.run, model, options.capacity);
  Engine engine(std::move(model), std::move(weights), options);
  Session session = engine.session();
  const std::span<const float> logits = session.run(ids, Logits::all);
  greatest(logits);  // refuses what is not finite
  write_report(logits_document(ids, logits, vocabulary), asked.output);
}

}  // namespace

void add_logits(CLI::App& program) {
  const auto asked = std::make_shared<LogitsOptions>();
  CLI::App& command = add_command(program, "logits", "the logits of every position of a sequence of ids",
                                  "  reckon logits ./model --ids 1,15,27 --format json\n"
                                  "  reckon logits mini-gpt --random 1 --ids 1,2,3\n"
                                  "  reckon logits ./model --ids 1,15,27 --device reference");
  add_run(command, asked->run);
  command.add_option("--ids", asked->ids, "the tokens, as ids")->type_name("1,2,3")->required();
  add_context(command, asked->context);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
