#include "cli/plan_faults.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "files/numbers.h"
#include "network/stages.h"
#include "time/layouts.h"
#include "time/reasons.h"

namespace reckon::cli {
namespace {

// Any layout of these devices that divides and that the engine, if there is one, can do.
std::optional<Workload> any_layout(Search search) {
  const bool serve = search.workload.phase != Phase::train;
  if (serve) {  // replicas take what comes
    search.sequences = search.hardware.devices;
    search.given.context = 1;
  }
  std::string left_out;
  for (const Workload& split : splits_of(search, search.hardware.devices, left_out)) {
    if (serve && (!search.accepts || search.accepts(split))) return split;
    if (serve) continue;
    if (const std::vector<Workload> ways = ways_of(search, split); !ways.empty()) return ways.front();
  }
  return std::nullopt;
}

// What was given may be at fault by itself.
void complain_of_ranks(const Search& search) {
  const std::int64_t devices = search.hardware.devices;
  const Given& given = search.given;
  Workload asked = search.workload;
  asked.layout = {.tensor = given.tensor.value_or(1),
                  .sequence = given.sequence.value_or(false),
                  .context = given.context.value_or(1),
                  .pipeline = given.pipeline.value_or(1),
                  .virtual_stages = given.virtual_stages.value_or(1),
                  .expert = given.expert.value_or(1),
                  .zero = given.zero.value_or(0)};
  const std::int64_t ranks = asked.layout.tensor * asked.layout.context * asked.layout.pipeline;
  if (devices % ranks != 0)
    throw UsageError(fmt::format("{} cannot be divided by the {} tensor · context · pipeline ranks that are given",
                                 counted(devices, "device"), grouped(ranks)));
  asked.layout.data = given.data.value_or(devices / ranks);
  // Ranks that are not given make up for what is missing, where there are any.
  const bool all_given = given.tensor && given.context && given.pipeline;
  if (all_given ? ranks * asked.layout.data != devices : devices % (ranks * asked.layout.data) != 0)
    throw UsageError(fmt::format("the ranks that are given are {} together; expected {}, as many as devices{}",
                                 grouped(ranks * asked.layout.data), grouped(devices),
                                 all_given ? "" : ", or a part of them"));
  validate_layout(search.model, asked);
  check_operations(search.model, asked.layout);
}

// One of the options that are given may be what no layout goes with.
void complain_of_option(const Search& search) {
  const std::string of_devices = "no layout of " + counted(search.hardware.devices, "device");
  const auto without = [&](auto Given::*option) {
    Search other = search;
    if (!(other.given.*option)) return false;
    (other.given.*option).reset();
    return any_layout(other).has_value();
  };
  const Given& given = search.given;
  if (without(&Given::batch))
    throw UsageError(
        fmt::format("--batch is {}, and {} leaves a rank a number of sequences that it divides; a step "
                    "has {} (--batch-tokens over --context)",
                    grouped(*given.batch), of_devices, grouped(search.sequences)));
  if (without(&Given::zero))
    throw UsageError(
        fmt::format("--zero is {}, and {} with the ranks that are given has data or context ranks to share "
                    "anything out among; expected 0, or such ranks",
                    *given.zero, of_devices));
  if (without(&Given::virtual_stages))
    throw UsageError(
        fmt::format("--virtual-stages is {}, and {} has stages of so many pieces: {} layers, or two more, "
                    "are to divide by --pipeline times as many, and a rank's micro-batches by --pipeline",
                    grouped(*given.virtual_stages), of_devices, grouped(search.model.layers.size())));
  if (without(&Given::sequence))
    throw UsageError(
        fmt::format("--sequence shares tokens out among tensor ranks, and {} has several of them that "
                    "divide the tokens",
                    of_devices));
}

// Layers and heads divide, but not the sequences of a step: the nearest number of them that some data ranks divide.
std::optional<std::int64_t> sequences_that_would_do(const Search& search) {
  if (search.workload.phase != Phase::train) return std::nullopt;
  Search other = of_any_engine(search);
  const std::int64_t batch = search.given.batch.value_or(1);
  other.sequences = search.hardware.devices * batch;      // which any data ranks divide
  std::set<std::pair<std::int64_t, std::int64_t>> found;  // how far away, and how many
  std::string left_out;
  for (const Workload& split : splits_of(other, search.hardware.devices, left_out)) {
    if (!search.given.tensor && split.layout.tensor > search.node) continue;
    const std::int64_t unit = split.layout.data * batch, below = search.sequences / unit * unit;
    for (const std::int64_t sequences : {below, below + unit})
      if (sequences > 0) found.emplace(std::abs(sequences - search.sequences), sequences);
  }
  for (const auto& [away, sequences] : found) {
    other.sequences = sequences;
    if (any_layout(other)) return sequences;
  }
  return std::nullopt;
}

}  // namespace

Job launch_of(const Search& search, const Workload& workload) {
  std::int64_t of_node = search.node;
  while (search.hardware.devices % of_node != 0) --of_node;
  Job launch{search.model, workload, search.hardware.devices / of_node, of_node};
  launch.materialised = !search.target.fusions.attention;
  return launch;
}

Search of_any_engine(Search search) {
  search.accepts = nullptr;
  search.wanted = 1;
  return search;
}

void complain_of_division(const Search& search, const std::optional<Launcher>& engine) {
  complain_of_ranks(search);
  const Search any_engine = of_any_engine(search);
  if (engine) {
    if (const std::optional<Workload> one = any_layout(any_engine))
      throw Error(refusal(*engine, launch_of(search, *one)));
  }
  complain_of_option(any_engine);
  const std::int64_t devices = search.hardware.devices;
  const auto would_do = [&](std::int64_t n) {
    Search other = search;
    other.hardware.devices = n;
    return n >= 1 && n <= most_devices && any_layout(other).has_value();
  };
  std::string instead;
  for (std::int64_t away = 1; away <= 64 && instead.empty(); ++away)
    for (std::int64_t n : {devices - away, devices + away})
      if (instead.empty() && would_do(n)) instead = counted(n, "device");
  const std::string of_devices = "no layout of " + counted(devices, "device");
  const std::string model =
      fmt::format("the {} and the heads of {}", counted(static_cast<std::int64_t>(search.model.layers.size()), "layer"),
                  search.model.name);
  if (const std::optional<std::int64_t> sequences = sequences_that_would_do(search)) {
    throw Error(
        fmt::format("{} that divides {} has a number of data ranks that divides the {} of a step; --batch-tokens {} "
                    "({}){} would do",
                    of_devices, model, counted(search.sequences, "sequence"), *sequences * search.workload.tokens,
                    counted(*sequences, "sequence"), instead.empty() ? "" : " or " + instead));
  }
  throw Error(
      fmt::format("{} divides {}{}", of_devices, model, instead.empty() ? "" : fmt::format("; {} would do", instead)));
}

}  // namespace reckon::cli
