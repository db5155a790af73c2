#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "files/numbers.h"
#include "model/sublayers.h"
#include "report/describe.h"
#include "report/figures.h"
#include "report/memory.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

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
  return text.substr(text.find_last_of('/') == std::string::npos ? 0 : text.find_last_of('/') + 1);
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
  Table table{title, {{"component"}}, {}, 1, {}};
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
    std::vector<Cell> cells{name};
    for (std::size_t m = 0; m < values.size(); ++m) {
      const bool absent = values[m] == 0;
      cells.push_back(absent ? Cell("–", "0") : count_cell(values[m]));
      cells.push_back(absent ? Cell("", "0") : share_cell(values[m], totals[m]));
      if (m > 0)
        cells.push_back(absent ? Cell() : factor_cell(static_cast<double>(values[m]), static_cast<double>(values[0])));
    }
    table.rows.push_back(std::move(cells));
  };
  for (const Line& line : lines) add(line.name, line.values);
  add("total", totals);
  return table;
}

Json quantity_json(const std::vector<Line>& lines) {
  Json out = Json::array();
  for (const Line& line : lines) {
    Json json = {{"name", line.name}, {"values", line.values}, {"growth", Json::array()}};
    if (!line.group.empty()) json["group"] = line.group;
    for (Count value : line.values) {
      const double first = static_cast<double>(line.values[0]);
      json["growth"].push_back(first == 0 ? Json() : Json(static_cast<double>(value) / first));
    }
    out.push_back(std::move(json));
  }
  return out;
}

// The sizes of each model, as rows of text.
Table shape_table(const std::vector<Compared>& compared) {
  Table table{"", {{"size"}}, {}, 0, {}};
  for (const std::string& name : labels(compared)) table.columns.push_back({name, true});
  const auto add = [&](const char* name, const std::function<Cell(const Compared&)>& cell) {
    std::vector<Cell> cells{name};
    for (const Compared& one : compared) cells.push_back(cell(one));
    table.rows.push_back(std::move(cells));
  };
  const auto bytes = [&](const char* name, DType type) {
    add(name, [type](const Compared& c) {
      const Count size = weight_bytes(c.ledger, type);
      return Cell(binary_bytes(size), to_string(size));
    });
  };
  const auto first = [](const Compared& c) -> const Attention& { return first_attention(c.model); };
  add("parameters", [](const Compared& c) { return count_cell(c.ledger.parameter_totals.total); });
  const auto sparse = [](const Compared& c) {
    return c.ledger.parameter_totals.active != c.ledger.parameter_totals.total;
  };
  if (std::any_of(compared.begin(), compared.end(), sparse)) {
    add("active for a token", [](const Compared& c) { return count_cell(c.ledger.parameter_totals.active); });
    add("active outside embeddings",
        [](const Compared& c) { return count_cell(c.ledger.parameter_totals.active_non_embedding); });
  }
  add("outside embeddings", [](const Compared& c) { return count_cell(c.ledger.parameter_totals.non_embedding); });
  add("layers", [](const Compared& c) { return count_cell(c.ledger.layers); });
  add("width", [](const Compared& c) { return count_cell(c.model.d_model); });
  add("heads", [&](const Compared& c) { return count_cell(first(c).n_heads); });
  add("key/value heads", [&](const Compared& c) { return count_cell(first(c).n_kv_heads); });
  // Of the first layer that has it; a row that no model has is left out.
  const auto add_some = [&](const char* name, const std::function<std::int64_t(const Model&)>& size) {
    if (std::none_of(compared.begin(), compared.end(), [&](const Compared& c) { return size(c.model) > 0; })) return;
    add(name, [&](const Compared& c) { return size(c.model) > 0 ? count_cell(size(c.model)) : Cell("–", "0"); });
  };
  const auto of_latent = [&](std::int64_t Latent::*rank) {
    return [rank](const Model& m) {
      const auto& latent = first_attention(m).latent;
      return latent ? (*latent).*rank : 0;
    };
  };
  const auto of_mixture = [](auto size) {
    return [size](const Model& m) {
      const auto* mixture = find<Mixture>(m);
      return mixture == nullptr ? std::int64_t{0} : size(*mixture);
    };
  };
  add("head width", [&](const Compared& c) { return count_cell(first(c).d_head); });
  add_some("latent of keys and values", of_latent(&Latent::kv_rank));
  add_some("latent of queries", of_latent(&Latent::query_rank));
  add_some("feed-forward", [](const Model& m) {
    const auto* dense = find<FeedForward>(m);
    return dense == nullptr ? 0 : dense->d_ff;
  });
  add_some("experts", of_mixture([](const Mixture& x) { return x.n_experts; }));
  add_some("active experts", of_mixture([](const Mixture& x) { return x.n_active; }));
  add_some("expert width", of_mixture([](const Mixture& x) { return x.expert.d_ff; }));
  add_some("shared expert width", of_mixture([](const Mixture& x) { return x.shared ? x.shared->d_ff : 0; }));
  add_some("window", first_window);
  add("vocabulary", [](const Compared& c) { return count_cell(c.model.vocab_size); });
  add("context", [](const Compared& c) { return count_cell(c.model.context); });
  add("tokens", [](const Compared& c) { return count_cell(c.ledger.workload.tokens); });
  if (compared.front().ledger.workload.past > 0)
    add("cached tokens", [](const Compared& c) { return count_cell(c.ledger.workload.past); });
  add("matmul FLOPs", [](const Compared& c) {
    return Cell(flops(static_cast<double>(c.ledger.total().matmul)), to_string(c.ledger.total().matmul));
  });
  if (std::any_of(compared.begin(), compared.end(), [](const Compared& c) { return !c.ledger.mostly_visible(); })) {
    const bool full = compared.front().ledger.workload.causal == Causal::full;
    add(full ? "… of visible scores only" : "… of every score", [full](const Compared& c) {
      const Count other = full ? c.ledger.matmul_exact : c.ledger.matmul_full;
      return Cell(flops(static_cast<double>(other)), to_string(other));
    });
  }
  bytes("weights in float32", DType::float32);
  bytes("weights in bfloat16", DType::bfloat16);
  const auto in_bytes = [&](const std::string& name, const std::function<Count(const Compared&)>& size) {
    add(name.c_str(), [&](const Compared& c) { return bytes_cell(size(c)); });
  };
  if (compared.front().cache) {
    const bool windows = std::any_of(compared.begin(), compared.end(),
                                     [](const Compared& c) { return c.cache->first_token != c.cache->last_token; });
    in_bytes("KV cache of a token", [](const Compared& c) { return c.cache->first_token; });
    if (windows) in_bytes("… with windows full", [](const Compared& c) { return c.cache->last_token; });
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

}  // namespace

Document compare_document(const std::vector<Compared>& compared, const std::string& note) {
  Document document;
  std::string title;
  Json models = Json::array();
  for (const Compared& one : compared) {
    title += (title.empty() ? "" : " · ") + short_name(one.model.name);
    const ParameterTotals& p = one.ledger.parameter_totals;
    Json json = {{"name", one.model.name}};
    json["architecture"] = architecture_json(one.model);
    json["workload"] = workload_json(one.ledger.workload);
    json["parameters"] = {{"total", p.total},
                          {"active", p.active},
                          {"embedding", p.embedding},
                          {"non_embedding", p.non_embedding},
                          {"active_non_embedding", p.active_non_embedding}};
    json["flops"] = {{"matmul", one.ledger.total().matmul},
                     {"elementwise", one.ledger.total().elementwise},
                     {"matmul_full", one.ledger.matmul_full},
                     {"matmul_exact", one.ledger.matmul_exact}};
    json["weights"] = weights_json(one.ledger);
    add_memory_json(json, one.ledger, one.cache);
    models.push_back(std::move(json));
  }
  const std::vector<Line> parameters = side_by_side(compared, Quantity::parameters);
  const std::vector<Line> matmul = side_by_side(compared, Quantity::matmul);
  document.json = {{"schema", "reckon.compare/1"}, {"models", std::move(models)}};
  document.json["parameters"] = quantity_json(parameters);
  document.json["flops"] = quantity_json(matmul);
  std::vector<std::vector<Figure>> figures;
  for (const Compared& one : compared)
    figures.push_back(model_figures(one.model, one.ledger, By::component, one.cache));
  document.csv.push_back(figures_table(labels(compared), figures));
  document.parts.emplace_back(Heading{title});
  if (!note.empty()) document.parts.emplace_back(Paragraph{note});
  document.parts.emplace_back(shape_table(compared));
  document.parts.emplace_back(quantity_table(compared, parameters, "Parameters"));
  document.parts.emplace_back(quantity_table(compared, matmul, "FLOPs of matrix products"));
  return document;
}

}  // namespace reckon
