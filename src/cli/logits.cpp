// reckon logits: the scores of every next token, a row per position; or what becomes of the last row, where the heads
// look, or which tokens lie close to one.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/sampling_options.h"
#include "files/machine_memory.h"
#include "model/sublayers.h"
#include "report/inspection.h"
#include "report/run.h"
#include "run/engine.h"
#include "run/inputs.h"
#include "run/logits.h"

namespace reckon::cli {
namespace {

struct LogitsOptions {
  RunOptions run;
  std::string ids;
  std::int64_t context = 0, next = 0, count = 8;
  bool attention = false;
  std::optional<std::int32_t> nearest;
  std::vector<CLI::Option*> drawing;  // those that say how the next token is drawn
  CLI::Option* counting = nullptr;
  Sampling sampling;
  std::optional<double> u;
  Output output;
};

// Before any file of the model is opened.
void check_use(const LogitsOptions& asked) {
  if ((asked.next > 0 ? 1 : 0) + (asked.attention ? 1 : 0) + (asked.nearest ? 1 : 0) > 1)
    throw UsageError("--next, --attention and --nearest are three reports; give one of them");
  if (asked.nearest.has_value() != asked.ids.empty())
    throw UsageError(asked.nearest ? "--nearest asks of one token; give it without --ids" : "--ids is required");
  const auto given = std::find_if(asked.drawing.begin(), asked.drawing.end(),
                                  [](const CLI::Option* option) { return option->count() > 0; });
  if (asked.next == 0 && given != asked.drawing.end())
    throw UsageError(fmt::format("{} says how the next token is drawn; give --next N too", (*given)->get_name()));
  if (!asked.nearest && asked.counting->count() > 0)
    throw UsageError("--count says how many --nearest lists; give both");
  validate(asked.sampling);
  if (asked.u) validate_draw(*asked.u);
  check_file(asked.output.file);
}

// The rows of the embedding are there without any run.
void run_nearest(const LogitsOptions& asked, const Model& model) {
  check_ids({&*asked.nearest, 1}, model.vocab_size);
  const InterruptHandler handler;
  const Weights weights = weights_to_run(asked.run, model, 1);
  write_report(nearest_document(*asked.nearest, nearest_tokens(weights, *asked.nearest, asked.count)), asked.output);
}

// Kernels that fuse attention never have its weights, so that is the reference's, whatever --device says.
Document attention_of(const LogitsOptions& asked, const Model& model, const std::vector<std::int32_t>& ids) {
  check_memory("attention maps, which are computed in 8 bytes a number,", attention_maps_bytes(model, std::ssize(ids)),
               available_memory());
  const InterruptHandler handler;
  Weights weights = weights_to_run(asked.run, model, std::ssize(ids));
  const auto loaded = std::make_shared<const LoadedModel>(model, std::move(weights));
  const AttentionMaps maps = attention_maps(loaded, ids, &interrupt_flag());
  if (!maps.layers.empty()) return attention_document(ids, maps);
  bool attends = false;
  for_each<Attention>(model.layers.written(),
                      [&](const Attention& a) { attends = attends || a.indexer || a.shared_key; });
  if (!attends) throw Error(fmt::format("{} has no layer of attention", model.name));
  throw Error(fmt::format(
      "{} attends to keys that are chosen, or stand for several tokens; weights over such keys cannot be shown",
      model.name));
}

Document logits_of(const LogitsOptions& asked, Model model, const std::vector<std::int32_t>& ids) {
  EngineOptions options = engine_options(asked.run);
  options.capacity = static_cast<std::int64_t>(ids.size());
  const std::int64_t vocabulary = model.vocab_size;
  const InterruptHandler handler;
  Weights weights = weights_to_run(asked.run, model, options.capacity);
  Engine engine(std::move(model), std::move(weights), options);
  Session session = engine.session();
  const std::span<const float> logits = session.run(ids, asked.next > 0 ? Logits::last : Logits::all);
  if (asked.next > 0) return next_document(ids, next_tokens(logits, ids, asked.sampling, asked.next, asked.u), asked.u);
  greatest(logits);  // refuses what is not finite
  return logits_document(ids, logits, vocabulary);
}

void run(const LogitsOptions& asked) {
  check_use(asked);
  const std::vector<std::int32_t> ids = asked.nearest ? std::vector<std::int32_t>{} : parse_ids(asked.ids);
  Model model = model_to_run(asked.run);
  if (asked.nearest) return run_nearest(asked, model);
  check_ids(ids, model.vocab_size);
  check_length(model, std::ssize(ids), longest_run(model, asked.context), room_hint(model));
  write_report(asked.attention ? attention_of(asked, model, ids) : logits_of(asked, std::move(model), ids),
               asked.output);
}

}  // namespace

void add_logits(CLI::App& program) {
  const auto asked = std::make_shared<LogitsOptions>();
  CLI::App& command =
      add_command(program, "logits", "the logits of every position of a sequence of ids",
                  "  reckon logits ./model --ids 1,15,27 --format json\n"
                  "  reckon logits mini-gpt --random 1 --ids 1,2,3\n"
                  "  reckon logits ./model --ids 1,15,27 --device reference\n"
                  "  reckon logits ./model --ids 1,15,27 --next 10 --temperature 0.8 --top-k 40 --u 0.5\n"
                  "  reckon logits ./model --ids 1,15,27 --attention\n"
                  "  reckon logits ./model --nearest 15");
  add_run(command, asked->run);
  command.add_option("--ids", asked->ids, "the tokens, as ids")->type_name("1,2,3");
  add_context(command, asked->context);
  add_size(command, "--next", asked->next, "instead: what may follow them, the N most likely one by one", {1, 1 << 20})
      .type_name("N");
  asked->drawing = add_sampling(command, asked->sampling);
  asked->drawing.push_back(
      command.add_option("--u", asked->u, "which token this random number, from 0 to 1, draws")->type_name("U"));
  command.add_flag("--attention", asked->attention, "instead: the weights of attention of every head");
  expect_whole(
      *command.add_option("--nearest", asked->nearest, "instead: the tokens nearest to this one in the embedding")
           ->type_name("ID"),
      0, std::numeric_limits<std::int32_t>::max());
  asked->counting =
      add_size(command, "--count", asked->count, "so many of the nearest (8)", {1, 1 << 20}).type_name("N");
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
