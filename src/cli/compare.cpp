// reckon compare: models side by side.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/model_file.h"
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
  std::vector<std::optional<ModelFile>> files;  // of those that are unchanged
  for (const std::string& name : asked.models) {
    const Model loaded = read_model(name);
    models.push_back(modify(loaded, setting.changes));
    files.push_back(is_of_file(models.back(), loaded) ? read_model_file(name, loaded) : std::nullopt);
  }
  const std::string length_note = set_common_length(setting.workload, models);
  std::vector<Compared> compared;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Workload workload = setting.workload;
    if (files[i]) take_types(*files[i], asked.options, workload);
    Ledger ledger = count(models[i], workload);
    note_workload(models[i], ledger.workload);
    std::optional<CacheCost> cache = cache_of(models[i], ledger);
    compared.push_back({std::move(models[i]), std::move(ledger), cache, std::nullopt});
    if (files[i] && files[i]->report.complete) compared.back().file = std::move(files[i]->report);
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
