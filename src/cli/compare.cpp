// reckon compare: models side by side.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "files/numbers.h"
#include "report/compare.h"
#include "report/memory.h"

namespace reckon::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> models;
  Options options;
  Output output;
};

// One length for all models, so that their FLOPs can be compared: what was asked for, else the shortest context.
// Returns a note where the contexts differ and none was asked for.
std::string set_common_length(Workload& workload, const std::vector<Model>& models) {
  const auto by_context = [](const Model& a, const Model& b) { return a.context < b.context; };
  const auto [shortest, longest] = std::minmax_element(models.begin(), models.end(), by_context);
  const bool decode = workload.phase == Phase::decode;
  if (decode ? workload.past >= 0 : workload.tokens > 0) return "";
  if (decode) {
    workload.past = std::max<std::int64_t>(shortest->context - std::max<std::int64_t>(workload.tokens, 1), 0);
  } else {
    workload.tokens = shortest->context;
  }
  if (shortest->context == longest->context) return "";
  return fmt::format("All at a context of {} tokens, the shortest among them ({}); {} asks for another.",
                     grouped(shortest->context), shortest->name, decode ? "--past" : "--tokens");
}

void run(const CompareOptions& asked) {
  if (asked.models.size() < 2)
    throw UsageError(fmt::format("only {} is given to compare; expected two models or more", asked.models.front()));
  Setting setting = read_options(asked.options);
  std::vector<Model> models;
  for (const std::string& name : asked.models) models.push_back(modify(read_model(name), setting.changes));
  const std::string length_note = set_common_length(setting.workload, models);
  std::vector<Compared> compared;
  for (Model& model : models) {
    Ledger ledger = count(model, setting.workload);
    note_workload(model, ledger.workload);
    std::optional<CacheCost> cache = cache_of(model, ledger);
    compared.push_back({std::move(model), std::move(ledger), cache});
  }
  write_report(compare_document(compared, length_note), asked.output);
}

}  // namespace

void add_compare(CLI::App& program) {
  const auto asked = std::make_shared<CompareOptions>();
  CLI::App& command = add_command(program, "compare", "models side by side, component by component",
                                  "  reckon compare gpt2 gpt2-medium gpt2-large gpt2-xl\n"
                                  "  reckon compare llama-2-7b llama-3.1-8b --tokens 4k --phase train\n"
                                  "  reckon compare mistral-7b-v0.1 mixtral-8x7b --format markdown --output table.md");
  add_models_argument(command, asked->models);
  add_counting(command, asked->options, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
