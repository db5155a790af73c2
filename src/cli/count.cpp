// reckon count: parameters, FLOPs and bytes of one model.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/tensor_file.h"
#include "model/location.h"
#include "report/count.h"

namespace reckon::cli {
namespace {

struct CountOptions {
  std::string model;
  Options options;
  std::string by = "component", convention = "exact", train_tokens;
  Output output;
};

By by_of(const std::string& word) {
  if (word == "component") return By::component;
  if (word == "layer") return By::layer;
  if (word == "tensor") return By::tensor;
  if (word == "op") return By::op;
  throw UsageError(fmt::format("--by is {}; expected one of: component layer tensor op", quote(word)));
}

Convention convention_of(const std::string& word) {
  if (word == "exact") return Convention::exact;
  if (word == "kaplan") return Convention::kaplan;
  if (word == "palm") return Convention::palm;
  if (word == "megatron") return Convention::megatron;
  if (word == "chinchilla") return Convention::chinchilla;
  throw UsageError(
      fmt::format("--convention is {}; expected one of: exact kaplan palm megatron chinchilla", quote(word)));
}

void run(const CountOptions& asked) {
  const Setting setting = read_options(asked.options);
  CountView view;
  view.by = by_of(asked.by);
  view.convention = convention_of(asked.convention);
  if (!asked.train_tokens.empty()) {
    view.train_tokens = static_cast<double>(parse_size(asked.train_tokens, "--train-tokens", {}, Units::amounts));
  }
  const Model loaded = read_model(asked.model);
  const ModelLocation location = locate_model(asked.model);
  if (!location.weights.empty()) view.file = inspect_file(loaded, read_tensor_file(location.weights));
  const Model model = modify(loaded, setting.changes);
  const Ledger ledger = count(model, setting.workload);
  note_past_context(model, ledger.workload);
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
                  "  reckon count ./folder-with-config-and-weights --format json");
  add_model(command, asked->model);
  command.add_option("--by", asked->by, "what a row stands for (component)")->type_name("component|layer|tensor|op");
  command.add_option("--convention", asked->convention, "also count as a publication does (exact)")
      ->type_name("exact|kaplan|palm|megatron|chinchilla");
  command.add_option("--train-tokens", asked->train_tokens, "tokens of a whole training, for its compute")
      ->type_name("D");
  add_workload(command, asked->options);
  add_precision(command, asked->options);
  add_modifiers(command, asked->options);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
