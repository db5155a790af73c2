#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/count.h"
#include "report/describe.h"
#include "report/figures.h"
#include "report/memory.h"

namespace reckon {
namespace {

// A component in every model; 0 where a model has none.
struct Line {
  std::string name, group;
  std::vector<Count> values;
};

// The components of all models in the order of the data: one that only a later model has comes after what it follows.
std::vector<Line> side_by_side(const std::vector<Compared>& compared, Quantity quantity) {
  std::vector<Line> lines;
  for (std::size_t m = 0; m < compared.size(); ++m) {
    std::size_t next = 0;
    for (const Row& row : rows(compared[m].ledger, quantity, By::component)) {
      auto found = std::find_if(lines.begin(), lines.end(),
                                [&](const Line& l) { return l.name == row.name && l.group == row.group; });
      if (found == lines.end()) {
        found = lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(next),
                             {row.name, row.group, std::vector<Count>(compared.size())});
      }
      found->values[m] = row.value;
      next = static_cast<std::size_t>(found - lines.begin()) + 1;
    }
  }
  return lines;
}

// A path is long; its end says which model it is.
std::string short_name(const std::string& name) {
  std::string text = name;
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text.substr(text.rfind('/') + 1);  // all of it where there is no slash
}

std::vector<std::string> labels(const std::vector<Compared>& compared) {
  std::vector<std::string> out;
  for (const Compared& one : compared) {
    std::string label = short_name(one.model.name);
    if (std::find(out.begin(), out.end(), label) != out.end()) label += fmt::format(" ({})", out.size() + 1);
    out.push_back(label);
  }
  return out;
}

Table quantity_table(const std::vector<Compared>& compared, const std::vector<Line>& lines, const std::string& title) {
  Table table{title, {{"component"}}, {}, 1};
  const std::vector<std::string> names = labels(compared);
  for (std::size_t m = 0; m < compared.size(); ++m) {
    table.columns.push_back({names[m], true});
    table.columns.push_back({names[m] + " share", true, Column::Kind::text, true});
    if (m > 0) table.columns.push_back({names[m] + " growth", true, Column::Kind::text, true});
  }
  std::vector<Count> totals(compared.size());
  for (const Line& line : lines) {
    for (std::size_t m = 0; m < totals.size(); ++m) totals[m] += line.values[m];
  }
  const auto add = [&](const std::string& name, const std::vector<Count>& values) {
    Cells cells{name};
    for (std::size_t m = 0; m < values.size(); ++m) {
      const bool absent = values[m] == 0;
      cells.push_back(absent ? Cell("–", "0") : count_cell(values[m]));
      cells.push_back(absent ? Cell("", "0") : share_cell(values[m], totals[m]));
      if (m > 0) cells.push_back(absent ? Cell() : growth_cell(values[m], values[0]));
    }
    table.rows.push_back(std::move(cells));
  };
  for (const Line& line : lines) add(line.name, line.values);
  add("total", totals);
  return table;
}

OrderedJson quantity_json(const std::vector<Line>& lines) {
  OrderedJson out = OrderedJson::array();
  for (const Line& line : lines) {
    OrderedJson json = {{"name", line.name}, {"values", line.values}, {"growth", OrderedJson::array()}};
    if (!line.group.empty()) json["group"] = line.group;
    for (Count value : line.values) {
      const Count first = line.values[0];
      json["growth"].push_back(first == 0 ? OrderedJson() : OrderedJson(ratio(value, first)));
    }
    out.push_back(std::move(json));
  }
  return out;
}

// The sizes of each model, then what it costs, as rows.
Table shape_table(const std::vector<Compared>& compared) {
  Table table{"", {{"size"}}};
  for (const std::string& name : labels(compared)) table.columns.push_back({name, true});
  const auto add = [&](const char* name, const auto& cell) {
    Cells cells{name};
    for (const Compared& one : compared) cells.push_back(cell(one));
    table.rows.push_back(std::move(cells));
  };
  const auto any = [&](const auto& is) { return std::any_of(compared.begin(), compared.end(), is); };
  const auto parameters = [&](const char* name, Count ParameterTotals::*part) {
    add(name, [&](const Compared& c) { return count_cell(c.ledger.parameter_totals.*part); });
  };
  parameters("parameters", &ParameterTotals::total);
  if (any([](const Compared& c) { return c.ledger.parameter_totals.active != c.ledger.parameter_totals.total; })) {
    parameters("active for a token", &ParameterTotals::active);
    parameters("active outside embeddings", &ParameterTotals::active_non_embedding);
  }
  parameters("outside embeddings", &ParameterTotals::non_embedding);
  for (std::size_t i = 0; i < sizes_of(compared.front().model).size(); ++i) {
    const auto size = [&](const Compared& c) { return sizes_of(c.model)[i]; };
    if (!any([&](const Compared& c) { return size(c).value.has_value(); })) continue;
    add(size(compared.front()).title, [&](const Compared& c) {
      const auto value = size(c).value;
      return value ? count_cell(*value) : Cell("–", "0");
    });
  }
  add("tokens", [](const Compared& c) { return count_cell(c.ledger.workload.tokens); });
  if (compared.front().ledger.workload.past > 0)
    add("cached tokens", [](const Compared& c) { return count_cell(c.ledger.workload.past); });
  add("matmul FLOPs", [](const Compared& c) { return flops_cell(c.ledger.total().matmul); });
  if (any([](const Compared& c) { return !c.ledger.mostly_visible(); })) {
    const bool full = compared.front().ledger.workload.causal == Causal::full;
    add(full ? "… of visible scores only" : "… of every score",
        [&](const Compared& c) { return flops_cell(full ? c.ledger.matmul_exact : c.ledger.matmul_full); });
  }
  const auto in_bytes = [&](const char* name, const auto& size) {
    add(name, [&](const Compared& c) { return bytes_cell(size(c)); });
  };
  if (any([](const Compared& c) { return c.file.has_value(); })) {
    add("weights in the file",
        [](const Compared& c) { return c.file ? bytes_cell(Count(c.file->weight_bytes)) : Cell("–", ""); });
    add("… bits per weight", [](const Compared& c) {
      return c.file ? Cell(fmt::format("{:.2f}", c.file->bits_per_weight())) : Cell("–", "");
    });
  }
  in_bytes("weights in float32", [](const Compared& c) { return weight_bytes(c.ledger, DType::float32); });
  in_bytes("weights in bfloat16", [](const Compared& c) { return weight_bytes(c.ledger, DType::bfloat16); });
  if (compared.front().cache) {
    in_bytes("KV cache of a token", [](const Compared& c) { return c.cache->first_token; });
    if (any([](const Compared& c) { return c.cache->first_token != c.cache->last_token; }))
      in_bytes("… with windows full", [](const Compared& c) { return c.cache->last_token; });
    in_bytes("KV cache in all", [](const Compared& c) { return c.cache->total; });
  } else {
    in_bytes("trained weights", [](const Compared& c) { return c.ledger.state.weights; });
    in_bytes("gradients", [](const Compared& c) { return c.ledger.state.gradients; });
    in_bytes("moments", [](const Compared& c) { return c.ledger.state.moments; });
  }
  add("bytes read", [](const Compared& c) { return traffic_cell(c.ledger.total().read); });
  add("bytes written", [](const Compared& c) { return traffic_cell(c.ledger.total().written); });
  add("FLOP per byte", [](const Compared& c) { return intensity_cell(c.ledger.total()); });
  return table;
}

// The figures of all models, each line beginning with the name of its model.
Table all_figures(const std::vector<Compared>& compared) {
  const std::vector<std::string> names = labels(compared);
  Table all;
  for (std::size_t m = 0; m < compared.size(); ++m) {
    Table own = figures_table(model_figures(compared[m].model, compared[m].ledger, By::component, compared[m].cache));
    own.columns.insert(own.columns.begin(), {"model"});
    for (Cells& row : own.rows) row.insert(row.begin(), names[m]);
    all.columns = std::move(own.columns);
    std::move(own.rows.begin(), own.rows.end(), std::back_inserter(all.rows));
  }
  return all;
}

}  // namespace

Document compare_document(const std::vector<Compared>& compared, const std::string& note) {
  Document document;
  std::string title;
  OrderedJson models = OrderedJson::array();
  for (const Compared& one : compared) {
    title += (title.empty() ? "" : " · ") + short_name(one.model.name);
    OrderedJson json = {{"name", one.model.name}};
    json["architecture"] = architecture_json(one.model);
    json["workload"] = workload_json(one.ledger.workload);
    json["parameters"] = parameters_json(one.ledger.parameter_totals);
    json["flops"] = {{"matmul", one.ledger.total().matmul},
                     {"elementwise", one.ledger.total().elementwise},
                     {"matmul_full", one.ledger.matmul_full},
                     {"matmul_exact", one.ledger.matmul_exact}};
    json["weights"] = weights_json(one.ledger);
    if (one.file) json["weights_in_file"] = in_file_json(*one.file);
    add_memory_json(json, one.ledger, one.cache);
    models.push_back(std::move(json));
  }
  const std::vector<Line> parameters = side_by_side(compared, Quantity::parameters);
  const std::vector<Line> matmul = side_by_side(compared, Quantity::matmul);
  document.json = {{"schema", "reckon.compare/1"}, {"models", std::move(models)}};
  document.json["parameters"] = quantity_json(parameters);
  document.json["flops"] = quantity_json(matmul);
  document.csv.push_back(all_figures(compared));
  document.parts.emplace_back(Heading{title});
  if (!note.empty()) document.parts.emplace_back(Paragraph{note});
  document.parts.emplace_back(shape_table(compared));
  document.parts.emplace_back(quantity_table(compared, parameters, "Parameters"));
  document.parts.emplace_back(quantity_table(compared, matmul, "FLOPs of matrix products"));
  return document;
}

}  // namespace reckon
