// reckon compare: models side by side.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/compare.h"
#include "report/memory.h"

namespace reckon::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> models;
  Options options;
  Output output;
};

void run(const CompareOptions& asked) {
  if (asked.models.size() < 2)
    throw UsageError(fmt::format("only {} is given to compare; expected two models or more", asked.models.front()));
  const Setting setting = read_options(asked.options);
  std::vector<Compared> compared;
  for (const std::string& name : asked.models) {
    Model model = modify(load_model(name), setting.changes);
    Ledger ledger = count(model, setting.workload);
    note_past_context(model, ledger.workload);
    std::optional<CacheCost> cache = cache_of(model, ledger);
    compared.push_back({std::move(model), std::move(ledger), cache});
  }
  write_report(compare_document(compared), asked.output);
}

}  // namespace

void add_compare(CLI::App& program) {
  const auto asked = std::make_shared<CompareOptions>();
  CLI::App& command = add_command(program, "compare", "models side by side, component by component",
                                  "  reckon compare gpt2 gpt2-medium gpt2-large gpt2-xl\n"
                                  "  reckon compare llama-2-7b llama-3.1-8b --tokens 4k --phase train\n"
                                  "  reckon compare mistral-7b-v0.1 mixtral-8x7b --format markdown --output table.md");
  add_models_argument(command, asked->models);
  add_workload(command, asked->options);
  add_precision(command, asked->options);
  add_modifiers(command, asked->options);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
