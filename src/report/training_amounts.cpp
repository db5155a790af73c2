#include "report/training_amounts.h"

#include <fmt/format.h>

#include "files/numbers.h"
#include "report/describe.h"
#include "files/duration.h"

namespace reckon {
namespace {

Cell amount_cell(double value) { return {compact(value), fmt::format("{:.0f}", value)}; }
Cell flops_cell(double value) { return {grouped(value), fmt::format("{:.6g}", value)}; }
Cell days_cell(const TrainingRun& run) { return {duration(run.seconds), fmt::format("{:.6g}", run.seconds)}; }
Cell cost_cell(const TrainingRun& run) {
  return run.usd ? Cell(compact(*run.usd), fmt::format("{:.0f}", *run.usd)) : Cell();
}

Table laws_table(const TrainingAmounts& amounts, const std::vector<TrainingRun>& runs) {
  Table table{"How much to train",
              {{"law", false, Column::Kind::name},
               {"tokens", true},
               {"a parameter", true},
               {"FLOPs", true},
               {"6·N·D", true, Column::Kind::text, false, 2},
               {"time", true},
               {"USD", true, Column::Kind::text, false, 1},
               {"source", false, Column::Kind::text, false, 3}}};
  for (std::size_t i = 0; i < amounts.amounts.size(); ++i) {
    const TrainingAmount& one = amounts.amounts[i];
    table.rows.push_back({one.name, amount_cell(one.tokens),
                          Cell(grouped(one.tokens_per_parameter), fmt::format("{:.6g}", one.tokens_per_parameter)),
                          flops_cell(one.flops), flops_cell(one.six_nd), days_cell(runs[i]), cost_cell(runs[i]),
                          one.reference});
  }
  return table;
}

Table optima_table(const TrainingAmounts& amounts) {
  Table table{fmt::format("The least loss for as much compute, {} FLOPs", grouped(amounts.compute)),
              {{"law", false, Column::Kind::name}, {"parameters", true}, {"tokens", true}}};
  for (const ComputeOptimum& one : amounts.optima)
    table.rows.push_back({one.name, amount_cell(one.parameters), amount_cell(one.tokens)});
  return table;
}

Table served_table(const TrainingAmounts& amounts, const std::vector<TrainingRun>& runs) {
  Table table{fmt::format("With {} tokens of inference", compact(amounts.inference_tokens)),
              {{"law", false, Column::Kind::name},
               {"this model: tokens", true},
               {"6·N·D", true, Column::Kind::text, false, 1},
               {"time", true, Column::Kind::text, false, 2},
               {"same loss: parameters", true},
               {"tokens", true},
               {"saves", true}}};
  for (std::size_t i = 0; i < amounts.served.size(); ++i) {
    const ServedOptimum& one = amounts.served[i];
    table.rows.push_back({one.name, amount_cell(one.tokens), flops_cell(one.flops),
                          days_cell(runs[amounts.amounts.size() + i]), amount_cell(one.best.parameters),
                          amount_cell(one.best.tokens), Cell(percent(one.saved), fmt::format("{:.6g}", one.saved))});
  }
  return table;
}

OrderedJson training_json(const TrainingRun& run) {
  OrderedJson json{{"seconds", run.seconds}, {"device_hours", run.device_hours}, {"usd", nullptr}};
  if (run.usd) json["usd"] = *run.usd;
  return json;
}

OrderedJson served_json(const TrainedAndServed& one) {
  return {{"parameters", number_json(one.parameters)},
          {"tokens", number_json(one.tokens)},
          {"training_flops", number_json(one.training)},
          {"inference_flops", number_json(one.inference)}};
}

OrderedJson amounts_json(const TrainingAmounts& amounts, const std::vector<TrainingRun>& runs) {
  OrderedJson json{{"parameters", number_json(amounts.parameters)}, {"laws", OrderedJson::array()}};
  for (std::size_t i = 0; i < amounts.amounts.size(); ++i) {
    const TrainingAmount& one = amounts.amounts[i];
    OrderedJson row{{"name", one.name},
                    {"basis", one.basis},
                    {"reference", one.reference},
                    {"tokens", number_json(one.tokens)},
                    {"tokens_per_parameter", one.tokens_per_parameter},
                    {"flops", number_json(one.flops)},
                    {"six_nd", number_json(one.six_nd)}};
    if (one.loss) row["loss"] = *one.loss;
    row["training"] = training_json(runs[i]);
    json["laws"].push_back(std::move(row));
  }
  if (!amounts.optima.empty()) {
    json["same_compute"] = {{"six_nd", number_json(amounts.compute)}, {"optima", OrderedJson::array()}};
    for (const ComputeOptimum& one : amounts.optima)
      json["same_compute"]["optima"].push_back(
          {{"name", one.name}, {"parameters", number_json(one.parameters)}, {"tokens", number_json(one.tokens)}});
  }
  if (amounts.served.empty()) return json;
  json["inference"] = {{"tokens", number_json(amounts.inference_tokens)}, {"laws", OrderedJson::array()}};
  for (std::size_t i = 0; i < amounts.served.size(); ++i) {
    const ServedOptimum& one = amounts.served[i];
    json["inference"]["laws"].push_back({{"name", one.name},
                                         {"reference", one.reference},
                                         {"tokens", number_json(one.tokens)},
                                         {"six_nd", number_json(one.flops)},
                                         {"training", training_json(runs[amounts.amounts.size() + i])},
                                         {"plain", served_json(one.plain)},
                                         {"same_loss", served_json(one.best)},
                                         {"saved", one.saved}});
  }
  return json;
}

}  // namespace

void add_training_amounts(Document& document, const TrainingAmounts& amounts, const std::vector<TrainingRun>& runs) {
  document.json["compute_optimal"] = amounts_json(amounts, runs);
  document.parts.emplace_back(laws_table(amounts, runs));
  if (!amounts.optima.empty()) document.parts.emplace_back(optima_table(amounts));
  if (!amounts.served.empty()) document.parts.emplace_back(served_table(amounts, runs));
  std::string text = fmt::format(
      "N is {}. The laws know no more of a network than N, and take a token to be 6·N FLOPs; FLOPs are the "
      "program's.",
      grouped(amounts.parameters));
  if (amounts.mixture) text += " They were fitted on dense models: of this mixture N is all parameters.";
  if (amounts.adapters) text += " They are of training all weights: with adapters, take them as no more than a scale.";
  document.parts.emplace_back(Paragraph{text});
}

}  // namespace reckon
