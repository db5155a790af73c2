// reckon count: parameters, FLOPs and bytes of one model.
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/model_file.h"
#include "cli/options.h"
#include "report/count.h"

namespace reckon::cli {
namespace {

struct CountOptions {
  std::string model;
  Options options;
  CountView view;
  std::int64_t train_tokens = 0;
  Output output;
};

void run(CountOptions& asked) {
  const Setting setting = read_options(asked.options);
  CountView& view = asked.view;
  view.train_tokens = static_cast<double>(asked.train_tokens);
  view.json_alone = asked.output.format == Format::json;
  const Model loaded = read_model(asked.model);
  const Model model = modify(loaded, setting.changes);
  Workload workload = setting.workload;
  if (std::optional<ModelFile> file = read_model_file(asked.model, loaded)) {
    view.of_file = is_of_file(model, loaded);
    view.file = std::move(file->report);
    if (view.of_file) take_types(*file, asked.options, workload);
  }
  const Ledger ledger = count(model, workload);
  note_workload(model, ledger.workload);
  write_report(count_document(model, ledger, view), asked.output);
}

}  // namespace

void add_count(CLI::App& program) {
  const auto asked = std::make_shared<CountOptions>();
  CLI::App& command =
      add_command(program, "count", "where every parameter, FLOP and byte of a model goes",
                  "  reckon count gpt2\n"
                  "  reckon count llama-3.1-405b --phase train --batch 16 --tokens 8k\n"
                  "  reckon count gpt2-xl --ffn swiglu --d-ff match --positions rope --tied no\n"
                  "  reckon count mixtral-8x7b --phase decode --past 4k --by layer\n"
                  "  reckon count deepseek-v3 --d-expert 1k --phase decode --batch 64 --precision float32\n"
                  "  reckon count gpt3-175b --convention palm --train-tokens 300B\n"
                  "  reckon count ./folder-with-config-and-weights --format json\n"
                  "  reckon count model-Q4_K_M.gguf");
  add_model(command, asked->model);
  add_choice(command, "--by", asked->view.by, "what a row stands for (component)",
             {{"component", By::component}, {"layer", By::layer}, {"tensor", By::tensor}, {"op", By::op}});
  std::vector<const char*> names;
  for (const Convention convention : conventions) names.push_back(convention_name(convention));
  add_choice(command, "--convention", "also count as a publication does (exact)", std::move(names),
             [asked](std::size_t i) { asked->view.convention = conventions[i]; });
  add_size(command, "--train-tokens", asked->train_tokens, "tokens of a whole training, for its compute", {},
           Units::amounts)
      .type_name("D");
  add_counting(command, asked->options, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
