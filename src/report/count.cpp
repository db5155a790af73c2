#include "report/count.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/numbers.h"
#include "report/describe.h"
#include "report/figures.h"
#include "report/memory.h"

namespace reckon {
namespace {

using Kind = Column::Kind;

std::string_view title_of(By by) {
  switch (by) {
    case By::component:
      return "component";
    case By::layer:
      return "layer";
    case By::tensor:
      return "tensor";
    case By::op:
      return "operation";
  }
  return "";
}

// "0–11", "0, 2, 4, …, 34": at most three stretches, and the last.
std::string layers_text(const std::vector<std::int64_t>& layers) {
  std::vector<std::string> stretches;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    stretches.push_back(end - i == 1 ? std::to_string(layers[i]) : fmt::format("{}–{}", layers[i], layers[end - 1]));
    i = end;
  }
  if (stretches.size() > 4) {
    stretches[3] = "…";
    stretches.erase(stretches.begin() + 4, stretches.end() - 1);
  }
  return fmt::format("{} {}", layers.size() == 1 ? "layer" : "layers", fmt::join(stretches, ", "));
}

// Layers that are alike become one row, with the value of each beside the sum.
std::vector<Row> folded(const std::vector<Row>& rows) {
  std::vector<Row> out;
  std::vector<std::vector<std::int64_t>> layers;  // of each row
  for (const Row& row : rows) {
    const bool layer = row.layer >= 0;
    std::size_t same = layer ? 0 : out.size();
    while (same < out.size() &&
           !(!layers[same].empty() && out[same].each == row.value && out[same].formula == row.formula))
      ++same;
    if (same == out.size()) {
      out.push_back(row);
      layers.emplace_back();
      if (layer) out.back().each = row.value;
    } else {
      out[same].value += row.value;
    }
    if (layer) layers[same].push_back(row.layer);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!layers[i].empty()) out[i].name = layers_text(layers[i]);
  }
  return out;
}

// From here on there is no room for a value per block beside the sum.
constexpr std::int64_t long_number = 1'000'000'000'000;

struct Counted {
  std::string title;
  By by;
  bool blocks;  // whether what all blocks hold is summed once more above the total
};

// The rows of the stack together, and what one block holds where all are alike.
Row blocks_of(const std::vector<Row>& rows) {
  Row sum{"blocks", "", "", "", 0, 0, 0};
  bool alike = true;
  for (const Row& row : rows) {
    if (row.layers == 0) continue;
    alike = alike && row.each != 0 && (sum.layers == 0 || row.layers == sum.layers);
    sum.layers = row.layers;
    sum.value += row.value;
    sum.each += row.each;
  }
  if (!alike) sum.each = 0;
  return sum;
}

// One row per component, and over the components of a group of several their sum.
Table counted_table(const std::vector<Row>& rows, const Counted& form) {
  Table table{
      form.title,
      {{std::string(title_of(form.by))}, {form.by == By::layer ? "formula of one" : "formula", false, Kind::formula}},
      {},
      1,
      {}};
  Count most_each;
  for (const Row& row : rows) most_each = std::max(most_each, row.each);
  const bool each = most_each > 0 && most_each < long_number;
  const auto each_cell = [&](Count value) { return value == 0 ? Cell() : count_cell(value); };
  table.columns.push_back({"with numbers", false, Kind::formula, false, 1});
  if (each) table.columns.push_back({"per block", true, Kind::text, false, 2});
  table.columns.insert(table.columns.end(), {{"value", true}, {"share", true}, {"", false, Kind::bar}});

  Count total;
  for (const Row& row : rows) total += row.value;
  const auto add = [&](Cell name, const Row& row) {
    std::vector<Cell> cells{std::move(name), row.formula, row.numbers};
    if (each) cells.push_back(each_cell(row.each));
    cells.insert(cells.end(), {count_cell(row.value), share_cell(row.value, total), bar_cell(row.value, total)});
    table.rows.push_back(std::move(cells));
  };
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && !rows[i].group.empty() && rows[end].group == rows[i].group) ++end;
    const bool group = end - i > 1;
    if (group) {
      Row sum{rows[i].group == "block" ? "blocks" : rows[i].group, "", "", "", 0, 0, 0};
      bool alike = true;  // and in the same layers, so that a sum per block makes sense
      for (std::size_t j = i; j < end; ++j) {
        sum.value += rows[j].value;
        sum.each += rows[j].each;
        alike = alike && rows[j].each != 0 && rows[j].layers == rows[i].layers;
      }
      if (!alike) sum.each = 0;
      table.groups.push_back(table.rows.size());
      add(sum.name, sum);
    }
    for (; i < end; ++i) {
      if (group) {
        add(Cell(rows[i].name, rows[i].group + ": " + rows[i].name).below(), rows[i]);
      } else {
        add(rows[i].name, rows[i]);
      }
    }
  }
  if (form.blocks) {
    const Row blocks = blocks_of(rows);
    add("blocks", blocks);
    ++table.totals;
  }
  add("total", Row{"total", "", "", "", total, 0, 0});
  return table;
}

Table training_table(const Ledger& ledger) {
  Table table{"Training step",
              {{"stage"}, {"matmul FLOPs", true}, {"share", true}, {"element-wise FLOPs", true}, {"of forward", true}},
              {},
              1,
              {}};
  const WorkTotals total = ledger.total();
  const auto add = [&](const char* name, const WorkTotals& part) {
    table.rows.push_back({name, count_cell(part.matmul), share_cell(part.matmul, total.matmul),
                          count_cell(part.elementwise),
                          factor_cell(static_cast<double>(part.matmul), static_cast<double>(ledger.forward.matmul))});
  };
  add("forward", ledger.forward);
  add("backward", ledger.backward);
  add("optimizer", ledger.optimizer);
  add("total", total);
  return table;
}

std::string rule_number(double value, const std::string& unit) {
  return unit == "share" ? percent(value) : grouped(value);
}

// What a person wants to know first.
Table summary_table(const Ledger& ledger, const CountView& view, const Model& model,
                    const std::optional<CacheCost>& cache) {
  Table table{"", {{""}, {""}}, {}, 0, {}};
  const ParameterTotals& p = ledger.parameter_totals;
  std::string parameters = fmt::format("{} ({})", grouped(p.total), compact(static_cast<double>(p.total)));
  if (p.active != p.total) {
    const auto active = [](Count n) { return fmt::format("{} ({})", grouped(n), compact(static_cast<double>(n))); };
    parameters += fmt::format("; active for a token {}, {} of it outside the embedding", active(p.active),
                              active(p.active_non_embedding));
  }
  table.rows.push_back({"parameters", parameters});
  const WorkTotals work = ledger.total();
  table.rows.push_back(
      {"FLOPs", fmt::format("{} ({}) in matrix products, {} element-wise", grouped(work.matmul),
                            flops(static_cast<double>(work.matmul)), flops(static_cast<double>(work.elementwise)))});
  if (!ledger.mostly_visible()) {
    const bool full = ledger.workload.causal == Causal::full;
    const Count other = full ? ledger.matmul_exact : ledger.matmul_full;
    table.rows.push_back(
        {full ? "exact" : "headline", fmt::format("{} ({}) with {}", grouped(other), flops(static_cast<double>(other)),
                                                  full ? "only the scores that causality and windows let through"
                                                       : "every score, masked ones too")});
  }
  if (view.convention != Convention::exact) {
    const Rule rule = convention_flops(view.convention, model, ledger);
    const auto error = rule.error();
    table.rows.push_back(
        {"as published", fmt::format("{} by {} ({}){}", grouped(rule.estimate), rule.name, rule.reference,
                                     error ? ", " + signed_percent(*error) + " against exact" : "")});
  }
  table.rows.push_back(
      {"weights", fmt::format("{} in float32, {} in bfloat16", binary_bytes(weight_bytes(ledger, DType::float32)),
                              binary_bytes(weight_bytes(ledger, DType::bfloat16)))});
  add_memory_lines(table, ledger, cache);
  return table;
}

}  // namespace

Table quantity_table(const Ledger& ledger, Quantity quantity, By by, const std::string& title) {
  std::vector<Row> found = rows(ledger, quantity, by);
  if (by == By::layer) found = folded(found);
  return counted_table(found, {title, by, quantity == Quantity::matmul && by == By::component});
}

Table weights_table(const Ledger& ledger) {
  Table table{
      "Weights", {{"type"}, {"bytes", true}, {"binary", true}, {"decimal", true, Kind::text, false, 1}}, {}, 0, {}};
  static constexpr std::array<std::pair<const char*, DType>, 4> types{
      {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"int8", DType::int8}, {"int4", DType::int4}}};
  for (const auto& [name, type] : types) {
    const Count bytes = weight_bytes(ledger, type);
    table.rows.push_back({name, count_cell(bytes), binary_bytes(bytes), decimal_bytes(bytes)});
  }
  return table;
}

Table rules_table(const std::vector<Rule>& rules) {
  Table table{"Rules of thumb",
              {{"rule", false, Kind::formula}, {"for"}, {"estimate", true}, {"exact", true}, {"error", true}},
              {},
              0,
              {}};
  for (const Rule& rule : rules) {
    const auto error = rule.error();
    table.rows.push_back({rule.name, rule.meaning, rule_number(rule.estimate, rule.unit),
                          rule.exact ? Cell(rule_number(*rule.exact, rule.unit)) : Cell(),
                          error ? Cell(signed_percent(*error), fmt::format("{:.6g}", *error)) : Cell()});
  }
  return table;
}

Table symbols_table(const Ledger& ledger) {
  std::vector<Dim> dims;
  for (Quantity quantity : {Quantity::parameters, Quantity::matmul, Quantity::elementwise}) {
    for (const Dim& dim : dimensions(ledger, quantity)) {
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    }
  }
  return symbols_table(std::move(dims));
}

Table symbols_table(std::vector<Dim> dims) {
  Table table{"Symbols", {{"symbol"}, {"size", true}, {"meaning"}}, {}, 0, {}};
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.symbol < b.symbol; });
  for (const Dim& dim : dims) {
    table.rows.push_back(
        {std::string(symbol_text(dim.symbol)), count_cell(dim.size), std::string(symbol_meaning(dim.symbol))});
  }
  return table;
}

Document count_document(const Model& model, const Ledger& ledger, const CountView& view) {
  Document document;
  const std::vector<Rule> rules = rules_of_thumb(model, ledger, view.train_tokens);
  const std::optional<CacheCost> cache = cache_of(model, ledger);
  auto& parts = document.parts;
  parts.emplace_back(Heading{model.name});
  parts.emplace_back(Paragraph{describe(model)});
  parts.emplace_back(Paragraph{describe(ledger.workload)});
  parts.emplace_back(summary_table(ledger, view, model, cache));
  if (view.file) add_file_parts(document, model, *view.file);
  // Parameters belong to no operation of their own.
  const By parameters_by = view.by == By::op ? By::component : view.by;
  parts.emplace_back(quantity_table(ledger, Quantity::parameters, parameters_by, "Parameters"));
  parts.emplace_back(quantity_table(ledger, Quantity::matmul, view.by, "FLOPs of matrix products"));
  parts.emplace_back(quantity_table(ledger, Quantity::elementwise, view.by, "Element-wise FLOPs"));
  if (ledger.workload.phase == Phase::train) parts.emplace_back(training_table(ledger));
  parts.emplace_back(weights_table(ledger));
  parts.emplace_back(memory_table(ledger, cache));
  parts.emplace_back(traffic_table(ledger));
  parts.emplace_back(rules_table(rules));
  parts.emplace_back(symbols_table(ledger));
  std::vector<Figure> figures = model_figures(model, ledger, view.by, cache);
  const auto append = [&](const std::vector<Figure>& more) { figures.insert(figures.end(), more.begin(), more.end()); };
  append(rule_figures(rules));
  if (view.convention != Convention::exact) append(rule_figures({convention_flops(view.convention, model, ledger)}));
  if (view.file) append(file_figures(*view.file));
  document.csv.push_back(figures_table(figures));
  document.json = count_json(model, ledger, view, rules, cache);
  return document;
}

}  // namespace reckon
