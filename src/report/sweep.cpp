#include "report/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "files/numbers.h"
#include "network/forward.h"
#include "report/describe.h"
#include "report/memory.h"

namespace reckon {
namespace {

double real(Count value) { return static_cast<double>(value); }

}  // namespace

SweepPoint sweep_point(std::int64_t value, const Model& model, const Ledger& ledger) {
  return {value,        ledger.parameter_totals, ledger.total(),      matmul_parts(ledger),   cache_of(model, ledger),
          ledger.state, ledger.matmul_full,      ledger.matmul_exact, ledger.mostly_visible()};
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

// A figure of each point: always in CSV, and in the table where it tells the most.
struct PointColumn {
  const char* title;
  bool shown;
  std::function<Cell(const SweepPoint& point, Count before)> cell;  // `before`: matmul FLOPs of the point before
};

std::vector<PointColumn> columns_of(const Sweep& sweep) {
  std::vector<PointColumn> columns;
  const auto add = [&](const char* title, bool shown, auto cell) {
    columns.push_back({title, shown, [cell](const SweepPoint& p, Count) { return Cell(cell(p)); }});
  };
  const auto share = [](Count MatmulParts::*part) {
    return [part](const SweepPoint& p) { return share_cell(p.parts.*part, p.work.matmul); };
  };
  const bool sparse = std::any_of(sweep.points.begin(), sweep.points.end(),
                                  [](const SweepPoint& p) { return p.parameters.active != p.parameters.total; });
  const bool full = sweep.workload.causal == Causal::full;
  const bool both =
      std::any_of(sweep.points.begin(), sweep.points.end(), [](const SweepPoint& p) { return !p.mostly_visible; });
  // Where there are two columns in place of one, both are short, so that the table fits; CSV has their digits.
  const auto parameters = [sparse](Count ParameterTotals::*figure) {
    return [sparse, figure](const SweepPoint& p) {
      const Count value = p.parameters.*figure;
      return sparse ? Cell(compact(real(value)), to_string(value)) : count_cell(value);
    };
  };
  add("parameters", true, parameters(&ParameterTotals::total));
  add("active", sparse, parameters(&ParameterTotals::active));
  add("active outside embeddings", false,
      [](const SweepPoint& p) { return count_cell(p.parameters.active_non_embedding); });
  add("matmul FLOPs", true,
      [both](const SweepPoint& p) { return both ? flops_cell(p.work.matmul) : count_cell(p.work.matmul); });
  columns.push_back(
      {"growth", true, [](const SweepPoint& p, Count before) { return growth_cell(p.work.matmul, before); }});
  add(full ? "exact FLOPs" : "headline FLOPs", both,
      [full](const SweepPoint& p) { return flops_cell(full ? p.matmul_exact : p.matmul_full); });
  add("scores, mixing", true, share(&MatmulParts::scores_and_mixing));
  add("feed-forward", !sparse && !both, share(&MatmulParts::feed_forward));
  add("projections", false, share(&MatmulParts::projections));
  add("head", false, share(&MatmulParts::head));
  add("element-wise FLOPs", false, [](const SweepPoint& p) { return count_cell(p.work.elementwise); });
  if (sweep.workload.phase == Phase::train) {
    add("state", true, [](const SweepPoint& p) { return bytes_cell(p.state.total()); });
    add("weights", false, [](const SweepPoint& p) { return bytes_cell(p.state.weights); });
    add("gradients", false, [](const SweepPoint& p) { return bytes_cell(p.state.gradients); });
    add("moments", false, [](const SweepPoint& p) { return bytes_cell(p.state.moments); });
  } else {
    add("KV cache", true, [](const SweepPoint& p) { return bytes_cell(p.cache->total); });
    add("KV cache of a token", false, [](const SweepPoint& p) { return bytes_cell(p.cache->first_token); });
  }
  add("bytes read", false, [](const SweepPoint& p) { return traffic_cell(p.work.read); });
  add("bytes read at least", false, [](const SweepPoint& p) { return traffic_cell(p.work.read_least); });
  add("bytes written", false, [](const SweepPoint& p) { return traffic_cell(p.work.written); });
  add("FLOP/byte", true, [](const SweepPoint& p) { return intensity_cell(p.work, false); });
  return columns;
}

OrderedJson point_json(const SweepPoint& point, Count before) {
  OrderedJson json = {{"value", point.value},
                      {"parameters", point.parameters.total},
                      {"active", point.parameters.active},
                      {"active_non_embedding", point.parameters.active_non_embedding},
                      {"matmul", point.work.matmul},
                      {"elementwise", point.work.elementwise},
                      {"matmul_full", point.matmul_full},
                      {"matmul_exact", point.matmul_exact},
                      {"growth", nullptr},
                      {"scores_and_mixing", point.parts.scores_and_mixing},
                      {"feed_forward", point.parts.feed_forward},
                      {"projections", point.parts.projections},
                      {"head", point.parts.head}};
  if (before != 0) json["growth"] = ratio(point.work.matmul, before);
  add_memory_json(json, point.work, point.cache, point.state);
  return json;
}

}  // namespace

Document sweep_document(const Sweep& sweep) {
  const std::vector<PointColumn> columns = columns_of(sweep);
  Table shown{"", {{sweep.option, true}}};
  Table all = shown;
  for (const PointColumn& figure : columns) {
    all.columns.push_back({figure.title, true});
    if (figure.shown) shown.columns.push_back({figure.title, true});
  }
  OrderedJson points = OrderedJson::array();
  Count before;
  for (const SweepPoint& point : sweep.points) {
    shown.rows.push_back({count_cell(point.value)});
    all.rows.push_back({count_cell(point.value)});
    for (const PointColumn& figure : columns) {
      all.rows.back().push_back(figure.cell(point, before));
      if (figure.shown) shown.rows.back().push_back(all.rows.back().back());
    }
    points.push_back(point_json(point, before));
    before = point.work.matmul;
  }
  Document document;
  const Workload& w = sweep.workload;
  document.json = {{"schema", "reckon.sweep/1"}, {"model", sweep.model}, {"option", sweep.option}};
  document.json["workload"] = {{"phase", phase_name(w.phase)},
                               {"causal", causal_name(w.causal)},
                               {"precision", encoding_of(w.precision.weights).name}};
  document.json["of_points"] = sweep.of_points;
  document.json["points"] = std::move(points);
  const bool whole = sweep.points.size() == sweep.of_points;
  document.parts.emplace_back(Heading{
      fmt::format("{} by {}", sweep.model, sweep.option) +
      (whole ? ""
             : fmt::format(", the first {} of {} points", grouped(sweep.points.size()), grouped(sweep.of_points)))});
  document.parts.emplace_back(std::move(shown));
  if (sweep.points.size() > 1) document.parts.emplace_back(sweep_chart(sweep));
  document.csv.push_back(std::move(all));
  return document;
}

}  // namespace reckon
