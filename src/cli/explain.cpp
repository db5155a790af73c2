// reckon explain MODEL: the derivation of every number, step by step.
#include "report/explain.h"

#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "model/modify.h"
#include "network/forward.h"
#include "report/tokens.h"

namespace reckon::cli {

void add_explain(CLI::App& program) {
  struct Arguments {
    std::string model;
    Options options;
    std::string prompt, tokenizer;
    Output output;
  };
  const auto given = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(program, "explain", "a network step by step: formulas, shapes and costs",
                  "  reckon explain mini-gpt              every number of a small model, to follow by hand\n"
                  "  reckon explain gpt2 --tokens 4       the shapes of four tokens on their way through\n"
                  "  reckon explain gpt2 --prompt \"Hello, I am\"   the same with the tokens of a text\n"
                  "  reckon explain gpt2 --phase train    with the way back and the optimizer\n"
                  "  reckon explain deepseek-v3 --format markdown --output page.md");
  add_model(command, given->model);
  CLI::Option& prompt =
      *command.add_option("--prompt", given->prompt, "walk the tokens of this text through")->type_name("TEXT");
  add_tokenizer_option(command, given->tokenizer);
  add_workload(command, given->options);
  add_modifiers(command, given->options);
  add_output(command, given->output);
  command.callback([given, &prompt, &tokens = *command.get_option("--tokens")] {
    if (prompt.count() > 0 && tokens.count() > 0) throw UsageError("give either --prompt or --tokens");
    if (prompt.count() == 0 && !given->tokenizer.empty())
      throw UsageError("--tokenizer is for a text; give --prompt too");
    Setting setting = read_options(given->options);
    const Model model = modify(read_model(given->model), setting.changes);
    std::optional<Tokenizer> tokenizer;
    std::vector<TokenId> ids;
    if (prompt.count() > 0) {
      tokenizer = model_tokenizer(given->tokenizer, given->model, ", or --tokens N");
      ids = prompt_ids(*tokenizer, given->prompt, given->model);
      check_vocabulary(ids, *tokenizer, model);
      setting.workload.tokens = std::ssize(ids);
    }
    note_workload(model, resolve(model, setting.workload));
    Document document = explain(model, setting.workload);
    if (tokenizer) add_prompt(document, *tokenizer, given->prompt, ids);
    write_report(document, given->output);
  });
}

}  // namespace reckon::cli
