#include "report/memory.h"

#include <fmt/format.h>

#include <cmath>

#include "files/numbers.h"
#include "program/program.h"
#include "report/describe.h"

namespace reckon {
namespace {

std::string ratio_text(double ratio) { return ratio < 100 ? fmt::format("{:.2f}", ratio) : grouped(std::round(ratio)); }

// A mixture reads more the more experts its tokens choose.
std::string range_text(const std::string& least, const std::string& most) {
  return least == most ? least : least + " to " + most;
}

std::string intensity_text(const WorkTotals& work) {
  return range_text(ratio_text(work.flops_per_byte()), ratio_text(work.flops_per_byte_most()));
}

std::string cache_text(const CacheCost& cache) {
  return fmt::format("{}; {} for {} in {}", token_bytes_text(cache), binary_bytes(cache.total), sequences_text(cache),
                     encoding_of(cache.type).name);
}

}  // namespace

std::optional<CacheCost> cache_of(const Model& model, const Ledger& ledger) {
  if (ledger.workload.phase == Phase::train) return std::nullopt;
  return cache_cost(model, ledger.workload);
}

std::vector<std::pair<std::string, WorkTotals>> stages_of(const Ledger& ledger) {
  if (ledger.workload.phase != Phase::train) return {};
  return {{"forward", ledger.forward}, {"backward", ledger.backward}, {"optimizer", ledger.optimizer}};
}

void add_memory_lines(Table& summary, const Ledger& ledger, const std::optional<CacheCost>& cache) {
  const Precision& precision = ledger.workload.precision;
  if (cache) summary.rows.push_back({"KV cache", cache_text(*cache)});
  if (ledger.workload.phase == Phase::train) {
    const TrainingState& state = ledger.state;
    summary.rows.push_back({"state", fmt::format("{}: weights {}, gradients {}, moments {}",
                                                 binary_bytes(state.total()), binary_bytes(state.weights),
                                                 binary_bytes(state.gradients), binary_bytes(state.moments))});
  }
  const WorkTotals work = ledger.total();
  summary.rows.push_back(
      {"traffic",
       fmt::format("{} read, {} written in {}, nothing fused: {} FLOP per byte",
                   range_text(decimal_bytes(work.read_least), decimal_bytes(work.read)), decimal_bytes(work.written),
                   ledger.workload.parameter_types != nullptr
                       ? fmt::format("weights as in the file, all else in {}", encoding_of(precision.activations).name)
                       : std::string(encoding_of(precision.weights).name),
                   intensity_text(work))});
}

Table memory_table(const Ledger& ledger, const std::optional<CacheCost>& cache) {
  Table table{"Memory", {{"kept"}, {"bytes", true}, {"binary", true}, {"decimal", true}}};
  const auto add = [&](const std::string& name, Count bytes) {
    table.rows.push_back({name, count_cell(bytes), binary_bytes(bytes), decimal_bytes(bytes)});
  };
  if (cache) {
    add("KV cache of a token", cache->first_token);
    if (cache->last_token != cache->first_token) add("KV cache of a token, windows full", cache->last_token);
    if (cache->state > 0) add("states of a sequence", cache->state);
    add("KV cache of " + sequences_text(*cache), cache->total);
  } else {
    add("weights", ledger.state.weights);
    add("gradients", ledger.state.gradients);
    add("moments", ledger.state.moments);
    add("state of training", ledger.state.total());
    table.totals = 1;
  }
  return table;
}

Table traffic_table(const Ledger& ledger) {
  const bool range = ledger.total().read_least != ledger.total().read;
  Table table{"Bytes moved, nothing fused", {{"stage"}, {"read", true}}};
  if (range) table.columns.push_back({"read at least", true});
  table.columns.insert(table.columns.end(), {{"written", true}, {"FLOP per byte", true}});
  auto stages = stages_of(ledger);
  table.totals = stages.empty() ? 0 : 1;
  stages.emplace_back("all", ledger.total());
  for (const auto& [name, work] : stages) {
    Cells row{name, count_cell(work.read)};
    if (range) row.push_back(count_cell(work.read_least));
    row.insert(row.end(), {count_cell(work.written), intensity_cell(work)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

OrderedJson cache_json(const CacheCost& cache) {
  OrderedJson json = {{"type", encoding_of(cache.type).name},
                      {"bytes_per_token", cache.first_token},
                      {"bytes_per_token_at_length", cache.last_token},
                      {"sequences", cache.sequences},
                      {"length", cache.tokens},
                      {"bytes", cache.total}};
  if (cache.encoder_tokens > 0) json["encoder_tokens"] = cache.encoder_tokens;
  if (cache.state > 0) json["bytes_of_states"] = cache.state;
  return json;
}

void add_memory_json(OrderedJson& json, const WorkTotals& work, const std::optional<CacheCost>& cache,
                     const TrainingState& state) {
  json["bytes"] = {{"read", work.read},
                   {"read_least", work.read_least},
                   {"written", work.written},
                   {"weights_read", work.weights},
                   {"flops_per_byte", work.flops_per_byte()},
                   {"flops_per_byte_most", work.flops_per_byte_most()}};
  if (cache) {
    json["cache"] = cache_json(*cache);
  } else {
    json["state"] = {{"weights", state.weights},
                     {"gradients", state.gradients},
                     {"moments", state.moments},
                     {"total", state.total()}};
  }
}

void add_memory_json(OrderedJson& json, const Ledger& ledger, const std::optional<CacheCost>& cache) {
  add_memory_json(json, ledger.total(), cache, ledger.state);
  const bool stored = ledger.workload.parameter_types != nullptr;
  json["bytes"]["type"] = stored ? "stored" : encoding_of(ledger.workload.precision.weights).name;
  json["launches"] = ledger.total().launches;
  json["precisions"] = OrderedJson::array();
  for (const PrecisionFlops& flops : flops_by_precision(ledger)) {
    json["precisions"].push_back(
        {{"type", encoding_of(flops.type).name}, {"matmul", flops.matmul}, {"elementwise", flops.elementwise}});
  }
  for (const auto& [name, stage] : stages_of(ledger)) {
    json["bytes"][name + "_read"] = stage.read;
    json["bytes"][name + "_written"] = stage.written;
  }
}

Cell bytes_cell(Count bytes) { return {binary_bytes(bytes), to_string(bytes)}; }
Cell traffic_cell(Count bytes) { return {decimal_bytes(bytes), to_string(bytes)}; }

Cell intensity_cell(const WorkTotals& work, bool range) {
  return {range ? intensity_text(work) : ratio_text(work.flops_per_byte()),
          fmt::format("{:.6g}", work.flops_per_byte())};
}

std::string token_bytes_text(const CacheCost& cache) {
  std::string text = grouped(cache.first_token) + " bytes a token";
  if (cache.last_token != cache.first_token)
    text += fmt::format(" at first, {} once windows are full", grouped(cache.last_token));
  if (cache.state > 0) text += fmt::format(", {} of states", grouped(cache.state));
  return text;
}

std::string sequences_text(const CacheCost& cache) {
  std::string tokens = grouped(cache.tokens) + (cache.tokens == 1 ? " token" : " tokens");
  const bool several = cache.sequences > 1;
  if (cache.encoder_tokens > 0) {
    tokens += fmt::format(" and {} of an encoder", grouped(cache.encoder_tokens));
    if (several) tokens = "(" + tokens + ")";
  }
  return several ? grouped(cache.sequences) + " × " + tokens : tokens;
}

}  // namespace reckon
