#include "report/sweep.h"

#include <fmt/format.h>

#include "files/numbers.h"
#include "report/describe.h"
#include "network/forward.h"

namespace reckon {
namespace {

constexpr int plot_width = 92;

double real(Count value) { return static_cast<double>(value); }

}  // namespace

SweepPoint sweep_point(std::int64_t value, const Ledger& ledger) {
  return {value, ledger.parameter_totals, ledger.total(), matmul_parts(ledger)};
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

Document sweep_document(const Sweep& sweep) {
  Document document;
  Table table{"",
              {{sweep.option, true},
               {"parameters", true},
               {"matmul FLOPs", true},
               {"growth", true},
               {"scores, mixing", true},
               {"feed-forward", true},
               {"projections", true},
               {"head", true}},
              {},
              0,
              {}};
  const Workload& w = sweep.workload;
  document.json = {{"schema", "reckon.sweep/1"}, {"model", sweep.model}, {"option", sweep.option}};
  document.json["workload"] = {{"phase", phase_name(w.phase)},
                               {"causal", w.causal == Causal::exact ? "exact" : "full"}};
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  table.rows.reserve(sweep.points.size());
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const Count all = point.work.matmul;
    const double before = i == 0 ? 0 : real(sweep.points[i - 1].work.matmul);
    table.rows.push_back({count_cell(point.value), count_cell(point.parameters.total), count_cell(all),
                          factor_cell(real(all), before), share_cell(point.parts.scores_and_mixing, all),
                          share_cell(point.parts.feed_forward, all), share_cell(point.parts.projections, all),
                          share_cell(point.parts.head, all)});
    points.push_back({{"value", point.value},
                      {"parameters", point.parameters.total},
                      {"active", point.parameters.active},
                      {"matmul", all},
                      {"elementwise", point.work.elementwise},
                      {"growth", before == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(real(all) / before)},
                      {"scores_and_mixing", point.parts.scores_and_mixing},
                      {"feed_forward", point.parts.feed_forward},
                      {"projections", point.parts.projections},
                      {"head", point.parts.head}});
  }
  document.json["points"] = std::move(points);
  document.parts.emplace_back(Heading{fmt::format("{} by {}", sweep.model, sweep.option)});
  document.parts.emplace_back(std::move(table));
  if (sweep.points.size() > 1) document.parts.emplace_back(Block{chart_text(sweep_chart(sweep), plot_width), "text"});
  return document;
}

}  // namespace reckon
