// reckon explain MODEL: the derivation of every number, step by step.
#include "report/explain.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "files/quote.h"
#include "model/modify.h"
#include "network/forward.h"
#include "text/load.h"
#include "text/tokenizer.h"

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
  command.add_option("--prompt", given->prompt, "walk the tokens of this text through")->type_name("TEXT");
  command.add_option("--tokenizer", given->tokenizer, "its tokenizer's name, file or folder (the model's)")
      ->type_name("NAME");
  add_workload(command, given->options);
  add_modifiers(command, given->options);
  add_output(command, given->output);
  command.callback([given] {
    Setting setting = read_options(given->options);
    Paragraph tokens;
    if (!given->prompt.empty()) {
      const Tokenizer tokenizer = load_tokenizer(given->tokenizer.empty() ? given->model : given->tokenizer);
      const std::vector<TokenId> ids = tokenizer.encode(given->prompt);
      setting.workload.tokens = static_cast<std::int64_t>(ids.size());
      tokens.text =
          fmt::format("The prompt {} is {} tokens: {}.", quote(given->prompt), ids.size(), fmt::join(ids, ", "));
    }
    const Model model = modify(load_model(given->model), setting.changes);
    note_past_context(model, resolve(model, setting.workload));
    Document document = explain(model, setting.workload);
    if (!tokens.text.empty()) document.parts.insert(document.parts.begin(), tokens);
    write_report(document, given->output);
  });
}

}  // namespace reckon::cli
