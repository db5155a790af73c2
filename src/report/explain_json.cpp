// The same derivation as data.
#include "report/explain.h"

#include <fmt/format.h>

#include <string_view>

#include "report/describe.h"

namespace reckon {
namespace {

std::string stage_name(Stage stage) {
  static constexpr const char* names[] = {"forward", "backward", "optimizer"};
  static_assert(std::size(names) == static_cast<std::size_t>(Stage::optimizer) + 1);
  return names[static_cast<std::size_t>(stage)];
}

OrderedJson quantity(const Formula& formula, Dim width) {
  return {{"formula", formula.symbols(width)}, {"numbers", formula.numbers(width)}, {"value", formula.value()}};
}

OrderedJson step_json(const Section& section, const ExplainedStep& step, Dim width) {
  OrderedJson shapes = OrderedJson::array();
  for (const Operand& operand : step.operands) {
    shapes.push_back({{"tensor", operand.letter}, {"symbols", operand.symbols}, {"numbers", operand.numbers}});
  }
  return {{"stage", stage_name(section.stage)},
          {"layers", section.layers},
          {"times", section.count()},
          {"name", step.name},
          {"path", path_of(step.key)},
          {"operations", step.operations},
          {"formula", step.formulas},
          {"why", step.text},
          {"shapes", shapes},
          {"parameters", quantity(step.parameters, width)},
          {"flops", {{"matmul", quantity(step.matmul, width)}, {"elementwise", quantity(step.elementwise, width)}}}};
}

OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "; ")); }

}  // namespace

Table steps_table(const Ledger& ledger, const std::vector<Section>& sections) {
  Table table{"Steps",
              {{"stage"},
               {"layers"},
               {"times", true},
               {"step"},
               {"formula"},
               {"shapes"},
               {"parameters"},
               {"parameter count", true},
               {"matmul"},
               {"matmul FLOPs", true},
               {"elementwise"},
               {"element-wise FLOPs", true}}};
  for (const Section& section : sections) {
    for (const ExplainedStep& step : section.steps) {
      std::vector<std::string> shapes;
      for (const Operand& operand : step.operands) shapes.push_back(operand.letter + ": " + operand.numbers);
      Cells row{stage_name(section.stage),   fmt::format("{}", fmt::join(section.layers, " ")),
                count_cell(section.count()), path_of(step.key),
                joined(step.formulas),       joined(shapes)};
      for (const Formula* formula : {&step.parameters, &step.matmul, &step.elementwise}) {
        row.emplace_back(formula->symbols(ledger.width));
        row.push_back(count_cell(formula->value()));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

OrderedJson explain_json(const Model& model, const Ledger& ledger, const std::vector<Section>& sections,
                         const std::vector<Growth>& doubled, const CacheCost& cache) {
  OrderedJson steps = OrderedJson::array();
  for (const Section& section : sections) {
    for (const ExplainedStep& step : section.steps) steps.push_back(step_json(section, step, ledger.width));
  }
  OrderedJson growth = OrderedJson::array();
  for (const Growth& row : doubled) {
    growth.push_back({{"doubled", row.what},
                      {"from", row.from},
                      {"to", row.to},
                      {"parameters", number_or_null(row.parameters)},
                      {"matmul", number_or_null(row.matmul)},
                      {"scores_and_mixing", number_or_null(row.scores)},
                      {"elementwise", number_or_null(row.elementwise)},
                      {"cache", number_or_null(row.cache)}});
  }
  const WorkTotals total = ledger.total();
  OrderedJson kept = {{"bytes_per_token", cache.first_token}, {"bytes_per_token_at_context", cache.last_token}};
  if (cache.state > 0) kept["bytes_of_states"] = cache.state;
  kept["bytes_at_context"] = cache.total;
  return {
      {"schema", "reckon.explain/1"},
      {"model", model.name},
      {"architecture", architecture_json(model)},
      {"workload", workload_json(ledger.workload)},
      {"steps", steps},
      {"totals",
       {{"parameters", ledger.parameter_totals.total}, {"matmul", total.matmul}, {"elementwise", total.elementwise}}},
      {"growth", growth},
      {"cache", kept}};
}

}  // namespace reckon
