#include "report/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "files/numbers.h"
#include "model/types.h"

namespace reckon {
namespace {

std::string giga(std::int64_t rate) { return fmt::format("{:.1f}", static_cast<double>(rate) / 1e9); }

// 1.23 s, 45.6 ms, 7.89 µs
std::string duration(double seconds) {
  const auto [factor, unit] = seconds >= 1      ? std::pair(1.0, "s")
                              : seconds >= 1e-3 ? std::pair(1e3, "ms")
                                                : std::pair(1e6, "µs");
  const double value = seconds * factor;
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, unit);
}
Cell duration_cell(double seconds) { return Cell(duration(seconds), fmt::format("{:.9g}", seconds)); }
Cell share_cell(double share) { return Cell(percent(share), fmt::format("{:.6f}", share)); }

std::string_view word(Phase phase) {
  return phase == Phase::prefill ? "prefill" : phase == Phase::decode ? "decode" : "train";
}

// A row for each number of rows, a column for each type: the best of all other extents.
Table products_table(const Efficiency& efficiency) {
  std::map<ComputeType, std::map<std::int64_t, std::int64_t>> best;
  std::map<std::int64_t, int> rows;
  for (const Efficiency::Matmul& point : efficiency.matmul) {
    std::int64_t& rate = best[point.type][point.m];
    rate = std::max(rate, point.rate);
    rows[point.m];
  }
  Table table{"Products, GFLOP/s", {{"rows", true}}};
  for (const auto& [type, rates] : best) table.columns.push_back({std::string(compute_type_name(type)), true});
  for (const auto& [m, unused] : rows) {
    Cells cells{grouped(m)};
    for (const auto& [type, rates] : best) {
      const auto found = rates.find(m);
      cells.push_back(found == rates.end() ? "" : giga(found->second));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table transfers_table(const Efficiency& efficiency) {
  Table table{"Memory, GB/s", {{"gone through", true}, {"read", true}, {"written", true}}};
  for (std::size_t i = 0; i < efficiency.read.size() && i < efficiency.write.size(); ++i)
    table.rows.push_back({Cell(binary_bytes(efficiency.read[i].bytes), std::to_string(efficiency.read[i].bytes)),
                          giga(efficiency.read[i].rate), giga(efficiency.write[i].rate)});
  return table;
}

Table operations_table(const Efficiency& efficiency) {
  struct Range {
    std::int64_t points = 0, least = INT64_MAX, most = 0;
  };
  std::map<std::string, Range> ranges;
  for (const Efficiency::Operation& point : efficiency.operations) {
    Range& range = ranges[point.name];
    ++range.points;
    range.least = std::min(range.least, point.rate);
    range.most = std::max(range.most, point.rate);
  }
  Table table{"Other operations, GFLOP/s", {{"operation"}, {"sizes", true}, {"slowest", true}, {"fastest", true}}};
  for (const auto& [name, range] : ranges)
    table.rows.push_back({name, grouped(range.points), giga(range.least), giga(range.most)});
  return table;
}

std::string caches_text(const Profile& profile) {
  std::string text;
  for (const Cache& cache : profile.caches)
    text += fmt::format("{}L{} {}{}", text.empty() ? "" : ", ", cache.level, binary_bytes(cache.bytes),
                        cache.cores > 1 ? fmt::format(" for {} cores", cache.cores) : "");
  return text;
}

}  // namespace

Document calibration_document(const Profile& profile, const std::string& path) {
  const Efficiency& efficiency = *profile.efficiency;
  Document document;
  document.parts.push_back(Heading{fmt::format("This machine: {}, {} {}", profile.title, efficiency.threads,
                                               efficiency.threads == 1 ? "thread" : "threads")});
  document.parts.push_back(Paragraph{fmt::format("{}{} of memory, read at {} GB/s. An op that does nothing takes {}.",
                                                 profile.caches.empty() ? "" : caches_text(profile) + ", ",
                                                 binary_bytes(profile.memory_bytes), giga(profile.memory_bandwidth),
                                                 duration(efficiency.overhead))});
  document.parts.push_back(products_table(efficiency));
  document.parts.push_back(transfers_table(efficiency));
  document.parts.push_back(operations_table(efficiency));
  document.parts.push_back(Paragraph{fmt::format("Products: the best over all widths. Written to {}.", path)});
  document.json = {{"schema", "reckon.calibration/1"}, {"path", path}, {"profile", profile_json(profile)}};
  return document;
}

std::string tolerance_text(double tolerance) { return fmt::format("{:.6g}%", 100 * tolerance); }

Document verify_time_document(const Model& model, const TimeVerification& v, double tolerance) {
  const std::int64_t threads = v.profile.efficiency->threads;
  Document document;
  document.parts.push_back(Heading{
      fmt::format("{}: predicted and measured time, {} {}", model.name, threads, threads == 1 ? "thread" : "threads")});
  Table table{"Time",
              {{"phase"},
               {"sequences", true},
               {"tokens", true},
               {"after", true},
               {"predicted", true},
               {"measured", true},
               {"ratio", true},
               {"from", true},
               {"to", true},
               {"within " + tolerance_text(tolerance)}}};
  OrderedJson phases = OrderedJson::array();
  for (const TimedPhase& phase : v.phases) {
    table.rows.push_back({std::string(word(phase.phase)), grouped(phase.batch), grouped(phase.tokens),
                          grouped(phase.past), duration_cell(phase.predicted), duration_cell(phase.measured.median),
                          fmt::format("{:.3f}", phase.ratio()), duration_cell(phase.measured.least),
                          duration_cell(phase.measured.most), phase.within(tolerance) ? "yes" : "no"});
    OrderedJson operations = OrderedJson::array();
    for (const OpShare& share : phase.shares) {
      operations.push_back({{"operation", share.operation},
                            {"calls", share.calls},
                            {"predicted_seconds", share.predicted},
                            {"predicted_share", share.predicted_share},
                            {"measured_seconds", share.measured},
                            {"measured_share", share.measured_share}});
    }
    phases.push_back({{"phase", word(phase.phase)},
                      {"batch", phase.batch},
                      {"tokens", phase.tokens},
                      {"past", phase.past},
                      {"predicted_seconds", phase.predicted},
                      {"measured_seconds", phase.measured.median},
                      {"measured_least", phase.measured.least},
                      {"measured_most", phase.measured.most},
                      {"ratio", phase.ratio()},
                      {"holds", phase.within(tolerance)},
                      {"measured_in_ops", phase.measured_in_ops()},
                      {"operations", operations}});
  }
  document.parts.push_back(table);
  document.parts.push_back(Paragraph{fmt::format(
      "Predicted: the program of the phase, op by op, with the profile of {} that {}. Measured: the median of {} "
      "rounds, and from and to which it went. Ratio: predicted / measured.",
      v.profile.title,
      v.stored ? "was measured before" : "was measured in turns with these runs, a round of each after the other",
      v.rounds)});
  for (const TimedPhase& phase : v.phases) {
    Table shares{fmt::format("Where the time of {} goes", phase.phase == Phase::train ? "training" : word(phase.phase)),
                 {{"operation"},
                  {"calls", true},
                  {"predicted", true},
                  {"share", true},
                  {"measured", true},
                  {"share", true},
                  {"ratio", true}}};
    const double predicted = phase.predicted_in_ops(), measured = phase.measured_in_ops();
    for (const OpShare& share : phase.shares)
      shares.rows.push_back({share.operation, grouped(share.calls), duration_cell(share.predicted),
                             share_cell(share.predicted_share), duration_cell(share.measured),
                             share_cell(share.measured_share),
                             share.measured > 0 ? fmt::format("{:.2f}", share.predicted / share.measured) : ""});
    shares.rows.push_back({"all ops", "", duration_cell(predicted), share_cell(1), duration_cell(measured),
                           share_cell(1), fmt::format("{:.2f}", predicted / measured)});
    shares.totals = 1;
    document.parts.push_back(shares);
  }
  document.parts.push_back(Paragraph{
      "Products that run together are one row, under the first of them. Ops are timed in runs of their own; what a run "
      "does between them is in the time of a phase alone."});
  const std::string_view why = why_not_trained(model);
  if (!why.empty())
    document.parts.push_back(
        Paragraph{fmt::format("There is no step of training: it cannot be trained yet, as {}.", why)});
  document.json = {{"schema", "reckon.verify-time/1"},
                   {"model", model.name},
                   {"processor", v.profile.title},
                   {"threads", threads},
                   {"calibrated", v.stored ? "before" : "in turns"},
                   {"rounds", v.rounds},
                   {"tolerance", tolerance},
                   {"holds", std::all_of(v.phases.begin(), v.phases.end(),
                                         [&](const TimedPhase& phase) { return phase.within(tolerance); })},
                   {"phases", phases}};
  if (!why.empty()) document.json["why_not_trained"] = why;
  return document;
}

}  // namespace reckon
