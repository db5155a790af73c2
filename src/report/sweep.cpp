#include "report/sweep.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "files/numbers.h"
#include "network/forward.h"
#include "report/describe.h"
#include "report/memory.h"

namespace reckon {
namespace {

constexpr int plot_width = 92;

double real(Count value) { return static_cast<double>(value); }

}  // namespace

SweepPoint sweep_point(std::int64_t value, const Model& model, const Ledger& ledger) {
  return {value, ledger.parameter_totals, ledger.total(), matmul_parts(ledger), cache_of(model, ledger), ledger.state};
}

Chart sweep_chart(const Sweep& sweep) {
  Chart chart{fmt::format("{}: matmul FLOPs by {}", sweep.model, sweep.option),
              sweep.option,
              "FLOPs",
              sweep.doubling,
              true,
              {},
              {{"all", {}}, {"scores and mixing", {}}, {"feed-forward", {}}, {"projections", {}}, {"head", {}}}};
  for (const SweepPoint& point : sweep.points) {
    if (sweep.doubling && point.value == 0) continue;  // a logarithmic axis has no zero
    chart.x.push_back(real(point.value));
    const Count values[] = {point.work.matmul, point.parts.scores_and_mixing, point.parts.feed_forward,
                            point.parts.projections, point.parts.head};
    for (std::size_t s = 0; s < chart.series.size(); ++s) chart.series[s].values.push_back(real(values[s]));
  }
  return chart;
}

namespace {

// A figure of each point: always in CSV, and in the table where there is room for it.
struct Figure {
  const char* title;
  bool shown;
  std::function<Cell(const SweepPoint&)> cell;
};

std::vector<Figure> figures_of(const Sweep& sweep) {
  const auto share = [](Count MatmulParts::*part) {
    return [part](const SweepPoint& p) { return share_cell(p.parts.*part, p.work.matmul); };
  };
  std::vector<Figure> figures = {
      {"scores, mixing", true, share(&MatmulParts::scores_and_mixing)},
      {"feed-forward", true, share(&MatmulParts::feed_forward)},
      {"projections", false, share(&MatmulParts::projections)},
      {"head", false, share(&MatmulParts::head)},
      {"element-wise FLOPs", false, [](const SweepPoint& p) { return count_cell(p.work.elementwise); }}};
  if (sweep.workload.phase == Phase::train) {
    figures.push_back({"state", true, [](const SweepPoint& p) { return bytes_cell(p.state.total()); }});
    figures.push_back({"weights", false, [](const SweepPoint& p) { return bytes_cell(p.state.weights); }});
    figures.push_back({"gradients", false, [](const SweepPoint& p) { return bytes_cell(p.state.gradients); }});
    figures.push_back({"moments", false, [](const SweepPoint& p) { return bytes_cell(p.state.moments); }});
  } else {
    figures.push_back({"KV cache", true, [](const SweepPoint& p) { return bytes_cell(p.cache->total); }});
    figures.push_back(
        {"KV cache of a token", false, [](const SweepPoint& p) { return bytes_cell(p.cache->first_token); }});
  }
  figures.push_back({"bytes read", false, [](const SweepPoint& p) { return bytes_cell(p.work.read); }});
  figures.push_back({"bytes read at least", false, [](const SweepPoint& p) { return bytes_cell(p.work.read_least); }});
  figures.push_back({"bytes written", false, [](const SweepPoint& p) { return bytes_cell(p.work.written); }});
  figures.push_back({"FLOP/byte", true, [](const SweepPoint& p) { return intensity_cell(p.work, false); }});
  return figures;
}

nlohmann::ordered_json point_json(const SweepPoint& point, double before) {
  nlohmann::ordered_json json = {{"value", point.value},
                                 {"parameters", point.parameters.total},
                                 {"active", point.parameters.active},
                                 {"matmul", point.work.matmul},
                                 {"elementwise", point.work.elementwise},
                                 {"growth", nullptr},
                                 {"scores_and_mixing", point.parts.scores_and_mixing},
                                 {"feed_forward", point.parts.feed_forward},
                                 {"projections", point.parts.projections},
                                 {"head", point.parts.head}};
  if (before != 0) json["growth"] = real(point.work.matmul) / before;
  add_memory_json(json, point.work, point.cache, point.state);
  return json;
}

}  // namespace

Document sweep_document(const Sweep& sweep) {
  const std::vector<Figure> figures = figures_of(sweep);
  Table shown{"", {{sweep.option, true}, {"parameters", true}, {"matmul FLOPs", true}, {"growth", true}}, {}, 0, {}};
  Table all = shown;
  for (const Figure& figure : figures) {
    all.columns.push_back({figure.title, true});
    if (figure.shown) shown.columns.push_back({figure.title, true});
  }
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  double before = 0;
  for (const SweepPoint& point : sweep.points) {
    const double matmul = real(point.work.matmul);
    std::vector<Cell> row{count_cell(point.value), count_cell(point.parameters.total), count_cell(point.work.matmul),
                          factor_cell(matmul, before)};
    shown.rows.push_back(row);
    for (const Figure& figure : figures) {
      row.push_back(figure.cell(point));
      if (figure.shown) shown.rows.back().push_back(row.back());
    }
    all.rows.push_back(std::move(row));
    points.push_back(point_json(point, before));
    before = matmul;
  }
  Document document;
  const Workload& w = sweep.workload;
  document.json = {{"schema", "reckon.sweep/1"}, {"model", sweep.model}, {"option", sweep.option}};
  document.json["workload"] = {{"phase", phase_name(w.phase)},
                               {"causal", w.causal == Causal::exact ? "exact" : "full"},
                               {"precision", dtype_name(w.precision.weights)}};
  document.json["points"] = std::move(points);
  document.parts.emplace_back(Heading{fmt::format("{} by {}", sweep.model, sweep.option)});
  document.parts.emplace_back(std::move(shown));
  if (sweep.points.size() > 1) document.parts.emplace_back(Block{chart_text(sweep_chart(sweep), plot_width), "text"});
  document.csv.push_back(std::move(all));
  return document;
}

}  // namespace reckon
