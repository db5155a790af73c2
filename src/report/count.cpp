#include "report/count.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "files/numbers.h"
#include "model/types.h"
#include "report/describe.h"
#include "report/figures.h"
#include "report/memory.h"

namespace reckon {
namespace {

using Kind = Column::Kind;

// Layers that are alike become one row, with the value of each beside the sum.
std::vector<Row> folded(const std::vector<Row>& rows) {
  std::vector<Row> out;
  std::vector<std::vector<std::int32_t>> layers;  // of each row
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
    if (!layers[i].empty()) {
      out[i].name = fmt::format("{} {}", layers[i].size() == 1 ? "layer" : "layers", layer_list(layers[i], 3));
    }
  }
  return out;
}

// From here on there is no room for a value per block beside the sum.
constexpr std::int64_t long_number = 1'000'000'000'000;

// The sum of rows; per block where all are in the same layers and those are alike.
Row sum_of(std::span<const Row> rows) {
  Row sum{"", "", "", "", 0, 0, 0};
  bool alike = true;
  for (const Row& row : rows) {
    sum.value += row.value;
    sum.each += row.each;
    alike = alike && row.each != 0 && row.layers == rows.front().layers;
  }
  if (!alike) sum.each = 0;
  return sum;
}

Table training_table(const Ledger& ledger) {
  Table table{"Training step",
              {{"stage"}, {"matmul FLOPs", true}, {"share", true}, {"element-wise FLOPs", true}, {"of forward", true}},
              {},
              1};
  const WorkTotals total = ledger.total();
  auto stages = stages_of(ledger);
  stages.emplace_back("total", total);
  for (const auto& [name, work] : stages) {
    table.rows.push_back({name, count_cell(work.matmul), share_cell(work.matmul, total.matmul),
                          count_cell(work.elementwise), growth_cell(work.matmul, ledger.forward.matmul)});
  }
  return table;
}

std::string rule_number(double value, const std::string& unit) {
  return unit == "share" ? percent(value) : grouped(value);
}

// What a person wants to know first.
Table summary_table(const Ledger& ledger, const CountView& view, const Model& model,
                    const std::optional<CacheCost>& cache) {
  Table table{"", {{""}, {""}}};
  const ParameterTotals& p = ledger.parameter_totals;
  const auto amount = [](Count n) { return fmt::format("{} ({})", grouped(n), compact(static_cast<double>(n))); };
  std::string parameters = amount(p.total);
  if (p.active != p.total) {
    parameters += fmt::format("; active for a token {}, {} of it outside the embedding", amount(p.active),
                              amount(p.active_non_embedding));
  }
  table.rows.push_back({"parameters", parameters});
  if (const ParameterTotals& further = ledger.prediction; further.total > 0) {
    std::string apart = amount(further.total) + " beside these, of what predicts tokens after the next";
    if (further.active != further.total) apart += fmt::format("; active for a token {}", amount(further.active));
    table.rows.push_back({"counted apart", apart});
  }
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
  const std::string in_file = view.of_file && view.file->complete ? in_file_text(*view.file) + "; " : "";
  table.rows.push_back({"weights", in_file + fmt::format("{} in float32, {} in bfloat16",
                                                         binary_bytes(weight_bytes(ledger, DType::float32)),
                                                         binary_bytes(weight_bytes(ledger, DType::bfloat16)))});
  add_memory_lines(table, ledger, cache);
  return table;
}

Table weights_table(const Ledger& ledger, const CountView& view) {
  Table table{"Weights", {{"type"}, {"bytes", true}, {"binary", true}, {"decimal", true, Kind::text, false, 1}}};
  if (view.of_file && view.file->complete) {
    const std::int64_t bytes = view.file->weight_bytes;
    table.rows.push_back({"as in the file", count_cell(bytes), binary_bytes(bytes), decimal_bytes(bytes)});
  }
  for (DType type : weight_types) {
    const Count bytes = weight_bytes(ledger, type);
    table.rows.push_back(
        {std::string(encoding_of(type).name), count_cell(bytes), binary_bytes(bytes), decimal_bytes(bytes)});
  }
  return table;
}

Table rules_table(const std::vector<Rule>& rules) {
  Table table{"Rules of thumb",
              {{"rule", false, Kind::formula}, {"for"}, {"estimate", true}, {"exact", true}, {"error", true}}};
  for (const Rule& rule : rules) {
    const auto error = rule.error();
    table.rows.push_back({rule.name, rule.meaning, rule_number(rule.estimate, rule.unit),
                          rule.exact ? Cell(rule_number(*rule.exact, rule.unit)) : Cell(),
                          error ? Cell(signed_percent(*error), fmt::format("{:.6g}", *error)) : Cell()});
  }
  return table;
}

}  // namespace

Table quantity_table(const Ledger& ledger, Quantity quantity, By by, const std::string& title) {
  static constexpr const char* row_titles[] = {"component", "layer", "tensor", "operation"};  // in the order of By
  std::vector<Row> all = rows(ledger, quantity, by);
  if (by == By::layer) all = folded(all);
  Count most_each;
  for (const Row& row : all) most_each = std::max(most_each, row.each);
  const bool each = most_each > 0 && most_each < long_number;
  Table table{title,
              {{row_titles[static_cast<std::size_t>(by)]},
               {by == By::layer ? "formula of one" : "formula", false, Kind::formula},
               {"with numbers", false, Kind::formula, false, 1}},
              {},
              1};
  if (each) table.columns.push_back({"per block", true, Kind::text, false, 2});
  table.columns.insert(table.columns.end(), {{"value", true}, {"share", true}, {"", false, Kind::bar}});

  const Count total = sum_of(all).value;
  const auto add = [&](Cell name, const Row& row) {
    Cells cells{std::move(name), row.formula, row.numbers};
    if (each) cells.push_back(row.each == 0 ? Cell() : count_cell(row.each));
    cells.insert(cells.end(), {count_cell(row.value), share_cell(row.value, total), bar_cell(row.value, total)});
    table.rows.push_back(std::move(cells));
  };
  // A group of several rows comes after its sum.
  for (std::size_t i = 0; i < all.size();) {
    const std::string group = all[i].group;
    std::size_t end = i + 1;
    while (end < all.size() && !group.empty() && all[end].group == group) ++end;
    const bool several = end - i > 1;
    if (several) {
      table.groups.push_back(table.rows.size());
      add(group == "block" ? "blocks" : group, sum_of(std::span(all).subspan(i, end - i)));
    }
    for (; i < end; ++i) add(several ? Cell(all[i].name, group + ": " + all[i].name).indent() : all[i].name, all[i]);
  }
  if (quantity == Quantity::matmul && by == By::component) {  // what all blocks hold, once more above the total
    std::vector<Row> stack;
    std::copy_if(all.begin(), all.end(), std::back_inserter(stack), [](const Row& row) { return row.layers > 0; });
    add("blocks", sum_of(stack));
    ++table.totals;
  }
  add("total", Row{"", "", "", "", total, 0, 0});
  return table;
}

std::vector<Dim> dimensions(const Ledger& ledger) {
  std::vector<Dim> all;
  for (Quantity quantity : {Quantity::parameters, Quantity::matmul, Quantity::elementwise}) {
    for (const Dim& dim : dimensions(ledger, quantity)) all.push_back(dim);
  }
  return all;
}

Table symbols_table(const std::vector<Dim>& dims) {
  Table table{"Symbols", {{"symbol"}, {"size", true}, {"meaning"}}};
  std::vector<Dim> each;
  for (const Dim& dim : dims) {
    if (std::find(each.begin(), each.end(), dim) == each.end()) each.push_back(dim);
  }
  std::stable_sort(each.begin(), each.end(), [](const Dim& a, const Dim& b) { return a.symbol < b.symbol; });
  for (std::size_t i = 0; i < each.size();) {
    const Symbol symbol = each[i].symbol;
    std::string sizes = grouped(each[i].size), meaning(symbol_meaning(symbol));
    Cell size = count_cell(each[i].size);
    std::size_t next = i + 1;
    for (; next < each.size() && each[next].symbol == symbol; ++next) sizes += ", " + grouped(each[next].size);
    if (next > i + 1) {
      size = sizes;
      meaning += ", not the same everywhere";
    }
    table.rows.push_back({std::string(symbol_text(symbol)), size, meaning});
    i = next;
  }
  return table;
}

Document count_document(const Model& model, const Ledger& ledger, const CountView& view) {
  Document document;
  const std::vector<Rule> rules = rules_of_thumb(model, ledger, view.train_tokens);
  const std::optional<CacheCost> cache = cache_of(model, ledger);
  document.json = count_json(model, ledger, view, rules, cache);
  if (view.json_alone) return document;
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
  parts.emplace_back(weights_table(ledger, view));
  parts.emplace_back(memory_table(ledger, cache));
  parts.emplace_back(traffic_table(ledger));
  parts.emplace_back(rules_table(rules));
  if (const std::string_view why = why_not_trained(model); !why.empty())
    parts.emplace_back(Paragraph{fmt::format("It cannot be trained yet: {}.", why)});
  parts.emplace_back(symbols_table(dimensions(ledger)));
  std::vector<Figure> figures = model_figures(model, ledger, view.by, cache);
  const auto append = [&](const std::vector<Figure>& more) { figures.insert(figures.end(), more.begin(), more.end()); };
  append(rule_figures(rules));
  if (view.convention != Convention::exact) append(rule_figures({convention_flops(view.convention, model, ledger)}));
  if (view.file) append(file_figures(*view.file));
  document.csv.push_back(figures_table(figures));
  return document;
}

}  // namespace reckon
