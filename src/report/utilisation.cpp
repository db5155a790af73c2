#include "report/utilisation.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/numbers.h"
#include "network/forward.h"
#include "report/describe.h"
#include "time/reasons.h"

namespace reckon {
namespace {

Table share_table(const std::vector<Utilisation>& all, bool hardware) {
  Table table;
  table.title = hardware ? "HFU: what was run, with what was computed again" : "MFU: what the mathematics asks for";
  table.columns = {{"counted by", false, Column::Kind::name},
                   {hardware ? "HFU" : "MFU", true},
                   {"FLOPs of a step", true},
                   {"formula", false, Column::Kind::formula},
                   {"what counts", false, Column::Kind::text, false, 2},
                   {"source", false, Column::Kind::text, false, 1}};
  for (const Utilisation& one : all) {
    if (one.hardware != hardware) continue;
    table.rows.push_back({one.name, Cell(percent(one.share, 2), fmt::format("{}", one.share)),
                          Cell(flops(one.flops), fmt::format("{}", one.flops)), one.formula, one.meaning,
                          one.reference});
  }
  return table;
}

OrderedJson utilisation_json(const Utilisation& one) {
  OrderedJson json{{"name", one.name},
                   {"kind", one.hardware ? "hfu" : "mfu"},
                   {"share", one.share},
                   {"flops", one.flops},
                   {"what_counts", one.meaning}};
  if (!one.formula.empty()) json["formula"] = one.formula;
  if (!one.reference.empty()) json["reference"] = one.reference;
  return json;
}

// A share above all of the peak, and what is wrong; empty: there is none.
std::string above_peak_text(const MeasuredRun& run, const std::vector<Utilisation>& all) {
  const auto above = [](const Utilisation& one) { return one.share > 1; };
  if (std::none_of(all.begin(), all.end(), above)) return "";
  const auto least = std::min_element(all.begin(), all.end(),
                                      [](const Utilisation& a, const Utilisation& b) { return a.share < b.share; });
  if (!above(*least))
    return "More than 100% is impossible: where some count so much, they count work that the run has left out.";
  return fmt::format(
      "More than 100% is impossible{}: the time, the batch or the devices are not those of the run.",
      run.hardware.profile.kind == DeviceKind::cpu ? " unless the clock was above that of the profile" : "");
}

}  // namespace

Document utilisation_document(const MeasuredRun& run, const std::vector<Utilisation>& utilisations) {
  const Workload& w = run.workload;
  const auto type = std::string(compute_type_name(run.type));
  Document document;
  document.parts.emplace_back(
      Heading{fmt::format("{} on {} × {}", run.model.name, grouped(run.hardware.devices), run.hardware.profile.name)});
  document.parts.emplace_back(
      Paragraph{fmt::format("Measured: {} s for a step ({}) of {} of {} in all, on {}, {} tokens/s. Peak of all "
                            "devices in {}, dense: {}/s. HFU is of {} attention.",
                            fmt::format("{:.6g}", run.seconds), phase_name(w.phase), counted(w.batch, "sequence"),
                            counted(w.tokens, "token"), counted(run.hardware.devices, "device"),
                            grouped(run.tokens_per_second), type, flops(run.peak), attention_name(run.materialised))});
  document.parts.emplace_back(share_table(utilisations, false));
  document.parts.emplace_back(share_table(utilisations, true));
  const std::string note = above_peak_text(run, utilisations);
  if (!note.empty()) document.parts.emplace_back(Paragraph{note});
  document.json = {{"schema", "reckon.utilisation/1"},
                   {"model", run.model.name},
                   {"hardware", run.hardware.profile.name},
                   {"devices", run.hardware.devices},
                   {"phase", std::string(phase_name(w.phase))},
                   {"batch", w.batch},
                   {"tokens", w.tokens},
                   {"seconds", run.seconds},
                   {"tokens_per_second", run.tokens_per_second},
                   {"peak", {{"type", type}, {"flops", run.peak}}},
                   {"attention", attention_name(run.materialised)},
                   {"utilisation", OrderedJson::array()}};
  for (const Utilisation& one : utilisations) document.json["utilisation"].push_back(utilisation_json(one));
  if (!note.empty()) document.json["note"] = note;
  return document;
}

}  // namespace reckon
