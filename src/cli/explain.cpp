// reckon explain MODEL: the derivation of every number, step by step.
#include "report/explain.h"

#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "model/modify.h"
#include "network/forward.h"

namespace reckon::cli {

void add_explain(CLI::App& program) {
  struct Arguments {
    std::string model;
    Options options;
    Output output;
  };
  const auto given = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(program, "explain", "a network step by step: formulas, shapes and costs",
                  "  reckon explain mini-gpt              every number of a small model, to follow by hand\n"
                  "  reckon explain gpt2 --tokens 4       the shapes of four tokens on their way through\n"
                  "  reckon explain gpt2 --phase train    with the way back and the optimizer\n"
                  "  reckon explain deepseek-v3 --format markdown --output page.md");
  add_model(command, given->model);
  add_workload(command, given->options);
  add_modifiers(command, given->options);
  add_output(command, given->output);
  command.callback([given] {
    const Setting setting = read_options(given->options);
    const Model model = modify(load_model(given->model), setting.changes);
    note_past_context(model, resolve(model, setting.workload));
    write_report(explain(model, setting.workload), given->output);
  });
}

}  // namespace reckon::cli
