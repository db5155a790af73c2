// reckon models: the presets.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "files/quote.h"
#include "model/load.h"
#include "model/presets.h"
#include "model/read.h"
#include "report/models.h"

namespace reckon::cli {
namespace {

struct ModelsOptions {
  std::string filter;
  bool types = false;
  Output output;
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void run(const ModelsOptions& asked) {
  const std::string filter = lower_case(asked.filter);
  const auto has_filter = [&](const std::string& text) { return lower_case(text).find(filter) != std::string::npos; };
  if (asked.types) {
    std::vector<std::string> types, further = further_names();
    for (const std::string& type : model_types())
      if (has_filter(type)) types.push_back(type);
    std::erase_if(further, [&](const std::string& name) { return !has_filter(name); });
    if (types.empty() && further.empty())
      throw UsageError(
          fmt::format("no model type has {} in it; `reckon models --types` lists them all", quote(asked.filter)));
    return write_report(types_document(types, further), asked.output);
  }
  std::vector<Model> found;
  for (const Preset& preset : presets()) {
    Model model = find_preset(std::string(preset.name));
    if (has_filter(model.name) || has_filter(model.family)) found.push_back(std::move(model));
  }
  if (found.empty()) {
    throw UsageError(
        fmt::format("no preset's name or family has {} in it; `reckon models` lists them all", quote(asked.filter)));
  }
  write_report(models_document(found), asked.output);
}

}  // namespace

void add_models(CLI::App& program) {
  const auto asked = std::make_shared<ModelsOptions>();
  CLI::App& command = add_command(program, "models", "the models that are known by name",
                                  "  reckon models\n"
                                  "  reckon models llama\n"
                                  "  reckon models --types\n"
                                  "  reckon models --format csv",
                                  false);
  command.add_option("FILTER", asked->filter, "only names and families that have this in them")->type_name("");
  command.add_flag("--types", asked->types,
                   "the model types that a config.json may have, and what each is held against");
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
