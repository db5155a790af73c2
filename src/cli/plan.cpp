// reckon plan: how a model is laid out over a number of devices, for training or serving, and the launch arguments of
// the engines that do it.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/model_file.h"
#include "cli/plan_faults.h"
#include "cli/predict_options.h"
#include "engines/engine.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "model/changed_config.h"
#include "model/load.h"
#include "report/plan.h"
#include "time/estimate.h"
#include "time/reasons.h"
#include "time/search.h"
#include "time/serving.h"

namespace reckon::cli {
namespace {

struct PlanOptions {
  PredictOptions prediction;
  bool serve = false;
  std::int64_t batch_tokens = 0;
  std::optional<double> token_latency;  // milliseconds
  std::optional<double> memory_share;   // 0.92
  std::optional<double> price;          // USD of a device and hour
  std::int64_t node = 0;
  Given given;
  std::int64_t count = 5;
  std::int64_t rank = 0;
  std::string engine, exported;
  Output output;
};

// Options of the other phase, which would change nothing.
void refuse_other_phase(const PlanOptions& asked) {
  const auto refuse = [&](const char* flag, bool given) {
    if (given)
      throw UsageError(fmt::format("{} is given in --phase {}; expected --phase {}", flag,
                                   asked.serve ? "serve" : "train", asked.serve ? "train" : "serve"));
  };
  const PredictOptions& prediction = asked.prediction;
  if (!asked.serve) {
    refuse("--token-latency", asked.token_latency.has_value());
    refuse("--cache", prediction.cache.has_value());
    return;
  }
  refuse("--batch-tokens", asked.batch_tokens != 0);
  refuse("--gradients", prediction.gradients.has_value());
  refuse("--optimizer", prediction.optimizer.has_value());
  refuse("--recompute", prediction.recompute.has_value());
  refuse("--dropout", prediction.dropout.has_value());
  refuse("--attention-dropout", prediction.attention_dropout.has_value());
  refuse("--lora", prediction.lora.has_value());
  refuse("--lora-targets", prediction.lora_targets.has_value());
  refuse("--sequence", asked.given.sequence.has_value());
  refuse("--virtual-stages", asked.given.virtual_stages.has_value());
  refuse("--zero", asked.given.zero.has_value());
  refuse("--context-ranks", asked.given.context.has_value());
}

// Devices that the fastest link joins.
std::int64_t node_of(const Hardware& hardware) {
  const std::vector<Link>& links = hardware.profile.links;
  const std::int64_t joined = links.empty() || links.front().devices == 0 ? 1 : links.front().devices;
  return std::min(joined, hardware.devices);
}

constexpr std::int64_t usual_batch_tokens = 1 << 22;  // of a step, where nothing is said

std::int64_t sequences_of(std::int64_t batch_tokens, std::int64_t tokens) {
  if (batch_tokens == 0) return std::max<std::int64_t>(1, usual_batch_tokens / tokens);
  if (batch_tokens % tokens == 0) return batch_tokens / tokens;
  const std::int64_t below = batch_tokens / tokens * tokens;
  throw UsageError(
      fmt::format("--batch-tokens is {}, which is no whole number of sequences of {} tokens (--context); "
                  "the nearest {} {}",
                  grouped(batch_tokens), grouped(tokens), below == 0 ? "is" : "are",
                  below == 0 ? grouped(tokens) : fmt::format("{} and {}", grouped(below), grouped(below + tokens))));
}

std::optional<Launcher> engine_of(const PlanOptions& asked) {
  if (asked.engine.empty() && asked.exported.empty()) return std::nullopt;
  const Launcher engine = find_engine(asked.exported.empty() ? asked.engine : asked.exported);
  if (!asked.engine.empty() && find_engine(asked.engine) != engine)
    throw UsageError(fmt::format("--engine is {} and --export {}; expected the same, or one of them",
                                 quote(asked.engine), quote(asked.exported)));
  const EngineFacts& facts = facts_of(engine);
  if (facts.serves != asked.serve)
    throw UsageError(fmt::format("{} {}; expected --phase {}", facts.title,
                                 facts.serves ? "serves models" : "is for training here",
                                 facts.serves ? "serve" : "train"));
  return engine;
}

using cli::launch_of;

Job launch_of(const Search& search, const Planned& plan) { return launch_of(search, plan.step.workload); }

Job launch_of(const Search& search, const Served& served) {
  Job launch = launch_of(search, served.workload);
  launch.sequences = served.sequences;
  launch.memory_share = search.memory_share;
  return launch;
}

// There are layouts, but none that the engine can do: what it lacks for the fastest.
template <class Plan>
[[noreturn]] void complain_of_engine(const Search& search, Launcher engine, const Plan& fastest) {
  const std::string why = refusal(engine, launch_of(search, fastest));
  throw Error(why.empty() ? fmt::format("no layout that fits is one that {} can do", engine_title(engine)) : why);
}

const Workload& workload_in(const Planned& plan) { return plan.step.workload; }
const Workload& workload_in(const Served& served) { return served.workload; }

// What the config.json of the model that is planned has otherwise than that of MODEL; empty: nothing. A shorter context
// changes a network only where each position has a row of a table.
std::string changes_to(const std::string& name, const Model& model) {
  if (name == "-")
    throw UsageError("--export writes a name of MODEL, and standard input has none; expected a preset or a path");
  const Described named = load_described(name);
  const bool table = model.positions.kind == Positions::Kind::learned;
  const bool long_enough = table ? model.context == named.model.context : model.context <= named.model.context;
  return long_enough && is_of_file(model, named.model) ? "" : changed_fields(named.config, model).dump();
}

// `first`: the best of all layouts, whatever the engine can do.
template <class Plan>
void write_launch(const PlanOptions& asked, const Search& search, Launcher engine, const std::vector<Plan>& best,
                  const Plan& first) {
  const auto rank = static_cast<std::size_t>(std::max<std::int64_t>(asked.rank, 1));
  if (rank > best.size())
    throw UsageError(fmt::format("--rank is {}; expected 1 to {}, as many as were found", rank, best.size()));
  Job launch = launch_of(search, best[rank - 1]);
  if (facts_of(engine).reads_config) launch.changes = changes_to(asked.prediction.model, search.model);
  if (const std::string why = refusal(engine, launch_of(search, first)); !why.empty()) {
    launch.notes.push_back(fmt::format("not the best of all layouts, which is {}:", layout_words(workload_in(first))));
    launch.notes.push_back(why);
  }
  write_file(asked.output.file.empty() ? "-" : asked.output.file, launch_text(engine, launch));
}

void plan_training(const PlanOptions& asked, Search& search, const std::optional<Launcher>& engine) {
  Plans plans = search_layouts(search);
  if (asked.batch_tokens == 0)
    plans.assumptions.push_back(
        fmt::format("steps of {} tokens (--batch-tokens)", grouped(search.sequences * search.workload.tokens)));
  if (plans.best.empty()) {
    if (engine) {
      const Plans others = search_layouts(of_any_engine(search));
      if (!others.best.empty()) complain_of_engine(search, *engine, others.best.front());
    }
    const std::string would = what_would_fit(search);
    if (would.empty()) complain_of_division(search, engine);
    throw Error(would);
  }
  if (!asked.exported.empty())
    return write_launch(asked, search, *engine, plans.best, search_layouts(of_any_engine(search)).best.front());
  write_report(
      plan_document(search, plans, price_of(search.hardware.profile, asked.price), engine ? engine_title(*engine) : ""),
      asked.output);
}

void plan_serving(const PlanOptions& asked, Search& search, const std::optional<Launcher>& engine) {
  std::optional<double> goal;
  if (asked.token_latency) goal = *asked.token_latency / 1e3;
  const ServingPlans plans = search_serving(search, goal);
  if (plans.best.empty()) {
    if (plans.soonest)
      throw Error(
          fmt::format("no layout gives a token within {} ms; the soonest takes {:.1f} ms, one sequence at a time",
                      *asked.token_latency, plans.soonest->token_seconds * 1e3));
    if (engine) {
      const ServingPlans others = search_serving(of_any_engine(search), goal);
      if (!others.best.empty()) complain_of_engine(search, *engine, others.best.front());
    }
    const std::string would = what_would_fit_serving(search);
    if (would.empty()) complain_of_division(search, engine);
    throw Error(would);
  }
  if (!asked.exported.empty())
    return write_launch(asked, search, *engine, plans.best, search_serving(of_any_engine(search), goal).best.front());
  write_report(serving_document(search, plans, goal, price_of(search.hardware.profile, asked.price),
                                engine ? engine_title(*engine) : ""),
               asked.output);
}

void plan(PlanOptions& asked) {
  const std::optional<Launcher> engine = engine_of(asked);
  if (asked.rank > 0 && asked.exported.empty()) throw UsageError("--rank chooses what --export writes; expected both");
  if (!asked.exported.empty() && asked.output.format != Format::table)
    throw UsageError("--format is given with --export, which writes what the engine reads; expected one of them");
  if (asked.prediction.on.empty())
    throw UsageError("--on is missing: a device and how many of them, such as --on h100:64");
  refuse_other_phase(asked);
  asked.prediction.options.setting.workload.phase = asked.serve ? Phase::prefill : Phase::train;
  Prediction prediction = read_prediction(asked.prediction);
  Hardware& hardware = *prediction.hardware;
  if (hardware.devices > most_devices)
    throw UsageError(
        fmt::format("--on asks for {} devices; expected 1 to {}", grouped(hardware.devices), grouped(most_devices)));
  if (engine && hardware.profile.kind != DeviceKind::gpu)
    throw UsageError(
        fmt::format("{} is known here for GPUs, and {} is none", engine_title(*engine), hardware.profile.name));
  Search search;
  search.model = std::move(prediction.model);
  search.workload = prediction.workload;
  search.target = prediction.target;
  search.quantised = prediction.weights;
  search.stored = prediction.stored;
  search.hardware = hardware;
  search.node = asked.node > 0 ? std::min(asked.node, hardware.devices) : node_of(hardware);
  search.memory_share = asked.memory_share.value_or(0.92);
  search.wanted = static_cast<std::size_t>(std::max(asked.count, asked.rank));
  search.given = asked.given;
  search.given.recompute = asked.prediction.recompute;
  if (engine)
    search.accepts = [&search, &engine](const Workload& workload) {
      return refusal(*engine, launch_of(search, workload)).empty();
    };
  if (asked.serve) return plan_serving(asked, search, engine);
  search.sequences = sequences_of(asked.batch_tokens, search.workload.tokens);
  plan_training(asked, search, engine);
}

void run(PlanOptions& asked) {
  try {
    plan(asked);
  } catch (const Overflow& overflow) {
    throw Error(fmt::format("{}: the workload is too large to plan: {}", asked.prediction.model, overflow.what()));
  }
}

void add_given(CLI::App& command, Given& given) {
  constexpr const char* group = "Layout (what is not given is searched)";
  static constexpr Bounds ranks{1, most_devices};
  const auto add = [&](const char* flag, std::optional<std::int64_t>& value, const char* help) {
    const auto read = [&value, flag](const std::string& text) { value = parse_size(text, flag, ranks); };
    command.add_option_function<std::string>(flag, read, help)->type_name("N")->group(group);
  };
  add("--tensor", given.tensor,
      "ranks that share out matrices (up to as many as a node has, unless nothing else fits)");
  command
      .add_flag_callback(
          "--sequence", [&given] { given.sequence = true; }, "…and between the matrices the tokens")
      ->group(group);
  add("--pipeline", given.pipeline, "stages of the stack of layers");
  add("--virtual-stages", given.virtual_stages, "pieces of the stack that each stage has, interleaved");
  add("--data", given.data, "ranks with sequences of their own, or replicas that are served");
  expect_whole(
      *command
           .add_option(
               "--zero", given.zero,
               "what data · context ranks share out: 1: the optimizer's state, 2: gradients too, 3: weights too")
           ->type_name("0..3")
           ->group(group),
      0, 3);
  add("--expert", given.expert, "ranks that share out the experts of mixtures");
  add("--context-ranks", given.context, "ranks that share out the tokens of a sequence");
  add("--batch", given.batch, "sequences of a micro-batch; --phase serve: the most at a time of a replica");
}

}  // namespace

void add_plan(CLI::App& program) {
  const auto asked = std::make_shared<PlanOptions>();
  CLI::App& command =
      add_command(program, "plan", "how to lay a model out over many devices",
                  "  reckon plan llama-3-8b --on h100:64 --batch-tokens 4M --context 8k\n"
                  "  reckon plan llama-3.1-405b --on h100:16384 --batch-tokens 16M --context 8k --export megatron\n"
                  "  reckon plan llama-3.1-8b --on h100:64 --context 8k --gradients float32 --export torchtitan\n"
                  "  reckon plan llama-3.1-8b --on h100:64 --context 8k --zero 3 --export deepspeed\n"
                  "  reckon plan llama-3.1-70b --on h100:8 --phase serve --context 8k --token-latency 50\n"
                  "  reckon plan llama-3.1-70b --on h100:8 --phase serve --context 8k --export vllm");
  add_choice(command, "--phase", asked->serve, "what is planned (train)", {{"train", false}, {"serve", true}});
  add_size(command, "--batch-tokens", asked->batch_tokens, "train: tokens of a step, over all devices (4M)",
           {1, std::int64_t{1} << 50});
  add_number(command, "--token-latency", asked->token_latency, 1e5, "MS",
             "serve: the most milliseconds from one token of a sequence to the next");
  add_number(command, "--memory-share", asked->memory_share, 1, "X",
             "of a device's memory that may be filled; the rest is for drivers and libraries (0.92)");
  add_number(command, "--price", asked->price, 10'000, "USD",
             "of a device and hour (the profile's): what a million tokens cost");
  add_network(command, asked->prediction);
  add_size(command, "--node", asked->node, "devices of a node (those that the profile's fastest link joins)");
  add_size(command, "--count", asked->count, "so many of the fastest (5)", {1, 100});
  command.add_option("--engine", asked->engine, "only what it can do: megatron, torchtitan, deepspeed or vllm")
      ->type_name("ENGINE");
  command.add_option("--export", asked->exported, "write the engine's launch arguments for the fastest instead")
      ->type_name("ENGINE");
  add_size(command, "--rank", asked->rank, "…or for this one of the list", {1, 100});
  add_given(command, asked->given);
  add_prediction(command, asked->prediction);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
