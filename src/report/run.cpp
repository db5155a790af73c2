// Turning runs into tables and JSON.
#include "report/run.h"

#include <fmt/format.h>

#include "files/numbers.h"
#include "files/quote.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace reckon {
namespace {

constexpr std::size_t shown = 5;  // most likely tokens of a position

Cell figure(Count value, const std::string& unit) {
  return {unit == "B" ? fmt::format("{} B", grouped(value)) : grouped(value), to_string(value)};
}

std::string_view name_of(MeasuredBy by) {
  static constexpr std::string_view names[] = {"files", "tiles", "loops", "touched", "taken"};
  static_assert(std::size(names) == static_cast<std::size_t>(MeasuredBy::taken) + 1);
  return names[static_cast<std::size_t>(by)];
}

double seconds(RunProfile::Time begin, RunProfile::Time end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Document logits_document(std::span<const std::int32_t> ids, std::span<const float> logits, std::int64_t vocabulary) {
  Document document;
  Table table{"Logits: the most likely next tokens", {{"position", true}, {"id", true}, {"next ids and their logits"}}};
  Table pairs{
      "",
      {{"position", true}, {"id", true}, {"rank", true}, {"next id", true}, {"logit", true}}};  // a line each, in CSV
  OrderedJson all = OrderedJson::array();
  std::vector<std::size_t> order(static_cast<std::size_t>(vocabulary));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const auto row = logits.subspan(t * static_cast<std::size_t>(vocabulary), static_cast<std::size_t>(vocabulary));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto most = std::min(shown, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                      [&](std::size_t a, std::size_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    std::string best;
    for (std::size_t i = 0; i < most; ++i) {
      best += fmt::format("{}{} ({:.3f})", i == 0 ? "" : "  ", order[i], row[order[i]]);
      pairs.rows.push_back({std::to_string(t), std::to_string(ids[t]), std::to_string(i + 1), std::to_string(order[i]),
                            fmt::format("{}", row[order[i]])});
    }
    table.rows.push_back({grouped(static_cast<std::int64_t>(t)), std::to_string(ids[t]), best});
    all.push_back(row);
  }
  document.parts.push_back(table);
  document.csv.push_back(std::move(pairs));
  document.json = {{"schema", "reckon.logits/1"}, {"ids", ids}, {"logits", all}};
  return document;
}

namespace {

std::vector<Column> score_columns(std::optional<std::int64_t> bytes) {
  std::vector<Column> columns{{"tokens scored", true}, {"loss", true}, {"perplexity", true}};
  if (bytes) columns.insert(columns.end(), {{"bytes", true}, {"bits per byte", true}});
  return columns;
}

std::vector<Cell> score_cells(const Score& score, std::optional<std::int64_t> bytes) {
  std::vector<Cell> cells{grouped(score.tokens) + (score.whole() ? "" : " of " + grouped(score.all)),
                          fmt::format("{:.6f}", score.loss()), fmt::format("{:.4f}", score.perplexity())};
  if (bytes) cells.insert(cells.end(), {grouped(*bytes), fmt::format("{:.6f}", score.bits_per(*bytes))});
  return cells;
}

OrderedJson score_json(const std::string& model, const Score& score, std::optional<std::int64_t> bytes,
                       std::int64_t context) {
  OrderedJson json{{"schema", "reckon.score/1"},       {"model", model},    {"tokens", score.tokens},
                   {"of_tokens", score.all},           {"nll", score.nll},  {"loss", score.loss()},
                   {"perplexity", score.perplexity()}, {"context", context}};
  if (bytes) {
    json["bytes"] = *bytes;
    json["bits_per_byte"] = score.bits_per(*bytes);
  }
  return json;
}

}  // namespace

Document score_document(const std::string& model, const Score& score, std::optional<std::int64_t> bytes,
                        std::int64_t context) {
  Document document;
  Table table{fmt::format("{}: loss in nats per token, in windows of {} tokens", model, grouped(context)),
              score_columns(bytes)};
  table.rows.push_back(score_cells(score, bytes));
  document.json = score_json(model, score, bytes, context);
  document.parts.push_back(table);
  return document;
}

Document divergence_document(const DivergenceNames& names, std::span<const std::int32_t> ids,
                             const Divergence& divergence, std::optional<std::int64_t> bytes, std::int64_t context) {
  Document document;
  Table scores{fmt::format("loss in nats per token, in windows of {} tokens", grouped(context)), {{"model"}}};
  for (const Column& column : score_columns(bytes)) scores.columns.push_back(column);
  for (const auto& [name, score] :
       {std::pair(names.model, &divergence.score), std::pair(names.other, &divergence.other)}) {
    std::vector<Cell> row{name};
    for (const Cell& cell : score_cells(*score, bytes)) row.push_back(cell);
    scores.rows.push_back(row);
  }
  document.parts.push_back(scores);

  const double best = static_cast<double>(divergence.equal_best) / static_cast<double>(divergence.score.tokens);
  Table far{fmt::format("divergence from {} in nats per token", names.other),
            {{"mean", true}, {"median", true}, {"99%", true}, {"greatest", true}, {"same best token", true}}};
  const auto nats = [](double value) { return fmt::format("{:.6f}", value); };
  far.rows.push_back({nats(divergence.mean()), nats(divergence.median()), nats(divergence.quantile(0.99)),
                      nats(divergence.quantile(1)), fmt::format("{:.2f}%", 100 * best)});
  document.parts.push_back(far);

  document.json = score_json(names.model, divergence.score, bytes, context);
  document.json["against"] = score_json(names.other, divergence.other, bytes, context);
  OrderedJson worst = OrderedJson::array();
  const auto token_text = [&](std::int32_t id) {
    const std::string piece = names.piece ? names.piece(id) : "";
    return piece.empty() ? fmt::format("{}", id) : fmt::format("{} {}", id, quote(piece));
  };
  Table tokens{"where it is farthest",
               {{"position", true},
                {"divergence", true},
                {"token"},
                {"probability", true},
                {"other's", true},
                {"likeliest"},
                {"other's"}}};
  for (const TokenDivergence& one : divergence.worst) {
    const std::int32_t id = ids[static_cast<std::size_t>(one.position)];
    tokens.rows.push_back({grouped(one.position), nats(one.divergence), token_text(id),
                           fmt::format("{:.4f}", one.probability), fmt::format("{:.4f}", one.of_other),
                           token_text(one.best), token_text(one.best_of_other)});
    worst.push_back({{"position", one.position},
                     {"divergence", one.divergence},
                     {"id", id},
                     {"probability", one.probability},
                     {"probability_against", one.of_other},
                     {"best", one.best},
                     {"best_against", one.best_of_other}});
  }
  document.json["divergence"] = {{"mean", divergence.mean()},          {"median", divergence.median()},
                                 {"p99", divergence.quantile(0.99)},   {"greatest", divergence.quantile(1)},
                                 {"same_best", divergence.equal_best}, {"worst", worst}};
  if (!tokens.rows.empty()) document.parts.push_back(tokens);
  return document;
}

Document verify_document(const Model& model, const Verification& v) {
  Document document;
  document.parts.push_back(Heading{fmt::format("{}: predicted and measured", model.name)});
  Table table{"",
              {{"quantity"}, {"headline", true}, {"lowered", true}, {"measured", true}, {"difference", true}, {"by"}}};
  OrderedJson checks = OrderedJson::array();
  for (const Check& check : v.checks) {
    const Count off = check.measured - check.lowered;
    table.rows.push_back(
        {check.name, check.headline ? figure(*check.headline, check.unit) : Cell(), figure(check.lowered, check.unit),
         figure(check.measured, check.unit),
         Cell(off == 0        ? "equal"
              : check.equal() ? "within"
                              : fmt::format("{}{}", off > 0 ? "+" : "−", grouped(off > 0 ? off : -off)),
              to_string(off)),
         std::string(name_of(check.by))});
    OrderedJson entry{{"name", check.name},       {"unit", check.unit},         {"headline", nullptr},
                      {"lowered", check.lowered}, {"measured", check.measured}, {"equal", check.equal()},
                      {"by", name_of(check.by)}};
    if (check.headline) entry["headline"] = *check.headline;
    if (check.least && *check.least != check.lowered) entry["lowered_least"] = *check.least;
    checks.push_back(entry);
  }
  OrderedJson unmeasured = OrderedJson::array();
  for (const auto& [name, value] : v.unmeasured) {
    table.rows.push_back({name, "", figure(value, "B"), "", "", "not measured"});
    unmeasured.push_back({{"name", name}, {"unit", "B"}, {"lowered", value}});
  }
  document.parts.push_back(table);
  document.parts.push_back(
      Paragraph{"Headline: what the mathematics asks for. Lowered: what this machine's program says it will do. "
                "Measured: by files, the weights that were read; by tiles, what each tile of a product multiplied and "
                "was handed; by "
                "loops, what each vector loop went over; touched, memory that no longer holds the pattern it was "
                "filled with; taken, memory that was handed out. Lowered and measured must be equal."});
  for (const std::string& finding : v.findings) document.parts.push_back(Paragraph{"Wrong: " + finding + "."});

  OrderedJson differences = OrderedJson::array();
  if (!v.differences.empty()) {
    Table items{"Why headline and lowered differ",
                {{"phase"}, {"component"}, {"headline", true}, {"lowered", true}, {"reason"}}};
    for (const Difference& d : v.differences) {
      items.rows.push_back({d.phase, d.component, grouped(d.headline), grouped(d.lowered), d.reason});
      differences.push_back({{"phase", d.phase},
                             {"component", d.component},
                             {"headline", d.headline},
                             {"lowered", d.lowered},
                             {"reason", d.reason}});
    }
    document.parts.push_back(items);
  }

  Table pace{"Time", {{"phase"}, {"tokens per sequence", true}, {"seconds", true}, {"tokens/s per sequence", true}}};
  for (const PhaseTime& p : v.times) {
    pace.rows.push_back({p.phase, grouped(p.tokens), fmt::format("{:.4f}", p.seconds),
                         p.seconds > 0 ? grouped(static_cast<double>(p.tokens) / p.seconds) : ""});
  }
  document.parts.push_back(pace);
  document.parts.push_back(
      Paragraph{fmt::format("Apart from these: the kernels reserve {} of scratch, of which they touch what they need; "
                            "the process held {} at most.",
                            binary_bytes(v.scratch_bytes), binary_bytes(v.peak_rss))});
  document.json = {
      {"schema", "reckon.verify/1"}, {"model", model.name},    {"holds", v.holds()},        {"checks", checks},
      {"unmeasured", unmeasured},    {"findings", v.findings}, {"differences", differences}};
  for (const PhaseTime& p : v.times) document.json[p.phase] = {{"tokens", p.tokens}, {"seconds", p.seconds}};
  document.json["scratch_bytes"] = v.scratch_bytes;
  document.json["peak_rss"] = v.peak_rss;
  return document;
}

Document verify_document(const Model& model, const ReferenceComparison& c) {
  Document document;
  document.parts.push_back(Heading{fmt::format("{}: cpu and reference, op by op", model.name)});
  Table table{"", {{"operation"}, {"ops", true}, {"largest difference", true}, {"of"}}};
  const auto json_of = [](const Distance& d) {
    return OrderedJson{{"op", d.op}, {"tensor", d.tensor}, {"difference", d.relative}};
  };
  OrderedJson operations = OrderedJson::array();
  for (const auto& [name, kind] : c.kinds) {
    table.rows.push_back({name, grouped(kind.ops), fmt::format("{:.1e}", kind.largest.relative), kind.largest.tensor});
    operations.push_back({{"operation", name}, {"ops", kind.ops}, {"largest", json_of(kind.largest)}});
  }
  document.parts.push_back(table);
  const Distance& largest = c.largest();
  document.parts.push_back(Paragraph{fmt::format(
      "A prefill of {} tokens, {} ops compared. A difference is max |a − b| / max |b| over the elements of an op's "
      "output, b being the reference's, in float64{}. The largest is {:.1e}, of {}; {:.0e} is allowed{}.",
      grouped(c.tokens), grouped(c.ops()),
      c.kinds.count("quantise") == 0
          ? ""
          : ", and for activations in 8 bits what lies beyond half a step; products read the same integers",
      largest.relative, largest.op, c.tolerance,
      c.tolerance > c.in_float32 ? ", for this processor multiplies more than 16 rows in bfloat16" : "")});
  if (c.first) {
    document.parts.push_back(Paragraph{fmt::format("The first op beyond that is {}: {} differs by {:.1e}.", c.first->op,
                                                   c.first->tensor, c.first->relative)});
  }
  document.json = {{"schema", "reckon.verify-against/1"},
                   {"model", model.name},
                   {"against", "reference"},
                   {"tokens", c.tokens},
                   {"holds", c.holds()},
                   {"tolerance", c.tolerance},
                   {"ops", c.ops()},
                   {"largest", json_of(largest)},
                   {"first", c.first ? json_of(*c.first) : OrderedJson()},
                   {"operations", operations}};
  return document;
}

Document profile_document(const RunProfile& profile) {
  struct Sum {
    double time = 0;
    std::int64_t calls = 0, flops = 0, bytes = 0, sent = 0;
  };
  std::map<std::string, Sum> sums;
  double total = 0;
  for (const RunProfile::Event& event : profile.events()) {
    Sum& sum = sums[fmt::format("{} {}", event.operation, path_of(event.scope.role))];
    const double taken = seconds(event.begin, event.end);
    sum.time += taken;
    total += taken;
    sum.calls += 1;
    sum.flops += event.flops;
    sum.bytes += event.bytes;
    sum.sent += event.sent;
  }
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  Document document;
  Table table{"Where the time went",
              {{"operation"}, {"calls", true}, {"ms", true}, {"share", true}, {"GFLOP/s", true}, {"GB/s", true}}};
  OrderedJson operations = OrderedJson::array();
  for (const auto& [name, sum] : order) {
    const double rate = static_cast<double>(sum.flops) / sum.time * 1e-9,
                 flow = static_cast<double>(sum.bytes) / sum.time * 1e-9;
    table.rows.push_back({name, grouped(sum.calls), fmt::format("{:.3f}", sum.time * 1e3), percent(sum.time / total),
                          sum.flops > 0 ? fmt::format("{:.1f}", rate) : "", fmt::format("{:.1f}", flow)});
    operations.push_back({{"operation", name},
                          {"calls", sum.calls},
                          {"seconds", sum.time},
                          {"flops", sum.flops},
                          {"bytes", sum.bytes},
                          {"sent", sum.sent}});
  }
  document.parts.push_back(table);
  document.json = {{"schema", "reckon.profile/1"}, {"seconds", total}, {"operations", operations}};
  return document;
}

std::string chrome_trace(const RunProfile& profile) {
  OrderedJson events = OrderedJson::array();
  const auto zero = profile.events().empty() ? RunProfile::Time{} : profile.events().front().begin;
  for (const RunProfile::Event& event : profile.events()) {
    const std::string path = path_of(event.scope.role);
    events.push_back({{"name", event.operation},
                      {"cat", path},
                      {"ph", "X"},
                      {"ts", seconds(zero, event.begin) * 1e6},
                      {"dur", seconds(event.begin, event.end) * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"path", path},
                        {"layer", event.scope.layer},
                        {"flops", event.flops},
                        {"bytes", event.bytes},
                        {"sent", event.sent}}}});
  }
  return OrderedJson{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace reckon
