#include "report/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "network/forward.h"
#include "report/describe.h"
#include "report/named_groups.h"
#include "files/duration.h"
#include "time/reasons.h"

namespace reckon {
namespace {

// 989.4, 3,352, 0.36
std::string figure(double value) {
  std::string text = fmt::format("{:.{}f}", value, value < 9.995 ? 2 : 1);
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return group_digits(text);
}

std::string whole(double value) { return grouped(static_cast<std::int64_t>(std::llround(value))); }

Cell seconds_cell(double seconds) { return seconds > 0 ? Cell(duration(seconds), fmt::format("{:.9g}", seconds)) : ""; }

Cell share_of(double part, double all) {
  const double share = all > 0 ? part / all : 0;
  return {percent(share), fmt::format("{:.6f}", share)};
}

// What it is at most, where that is not next to nothing.
std::string energy(double kilowatt_hours) {
  if (kilowatt_hours < 0.01) return "less than 0.01 kWh";
  return "at most " +
         (kilowatt_hours < 9995 ? figure(kilowatt_hours) + " kWh" : figure(kilowatt_hours / 1000) + " MWh");
}

bool training(const TimeReport& report) { return report.estimate.workload.phase == Phase::train; }

// A share of the peak that was given is of no links.
const Link* network_in(const Estimate& e) { return e.plain_share ? nullptr : network_of(e.hardware); }

std::string hardware_text(const TimeReport& report) {
  const Estimate& e = report.estimate;
  const Profile& profile = e.hardware.profile;
  const Link* const network = network_in(e);
  return fmt::format("{}{}: {} TFLOP/s in {}, {} GB/s, {}{}{}",
                     e.hardware.devices > 1 ? grouped(e.hardware.devices) + " × " : "", profile.title,
                     figure(e.peak / 1e12), compute_type_name(e.type),
                     figure(static_cast<double>(profile.memory_bandwidth) / 1e9), binary_bytes(profile.memory_bytes),
                     e.hardware.devices > 1 ? " each" : "",
                     network == nullptr ? "" : fmt::format(", {} between nodes", link_rate(*network)));
}

// What one run is, in the words of its phase.
std::string run_name(Phase phase) {
  switch (phase) {
    case Phase::train:
      return "a step";
    case Phase::decode:
      return "an output token";
    case Phase::prefill:
      return "the prompt";
    default:
      return "a forward pass";
  }
}

std::string seconds_text(const TimeReport& report) {
  const Estimate& e = report.estimate;
  std::string text = duration(e.seconds);
  if (training(report) && !e.plain_share) {
    text += fmt::format(": forward {}, backward {}, optimizer {}", duration(e.stages[0]), duration(e.stages[1]),
                        duration(e.stages[2]));
    if (e.bubble > 0)
      text += fmt::format(", waiting for the pipeline {} ({})", duration(e.bubble), percent(e.bubble / e.seconds));
  }
  return text;
}

std::string layout_text(const Layout& layout) {
  std::string text;
  const auto add = [&](const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, grouped(value));
  };
  add("tensor", layout.tensor, 1);
  if (layout.sequence) text += " with sequence parallelism";
  add("context", layout.context, 1);
  add("pipeline", layout.pipeline, 1);
  add("virtual stages", layout.virtual_stages, 1);
  add("expert", layout.expert, 1);
  add("data", layout.data, 1);
  add("ZeRO", layout.zero, 0);
  add("micro-batches", layout.micro_batches, 1);
  return text;
}

// What takes the time: "compute 71%, memory 27%, launches 2%".
std::string bounds_text(const Estimate& e) {
  std::string text;
  for (const Bound bound : bounds) {
    const double share = e.bound_by(bound) / e.seconds;
    if (share < 0.0005) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", bound_name(bound), percent(share));
  }
  return text;
}

// What a rank sends: "tensor ranks 12.3 GB, data ranks 3.41 GB; of that, 120.0 ms run beside computing".
std::string traffic_text(const Estimate& e) {
  std::string text;
  for (const NamedGroup& named : named_groups) {
    const double sent = of(e.step.sent, named.group);
    if (sent == 0) continue;
    text += fmt::format("{}{} ranks {}", text.empty() ? "a rank sends " : ", ", named.name,
                        decimal_bytes(static_cast<std::int64_t>(sent)));
  }
  if (e.step.seconds.hidden > 0)
    text += fmt::format("; {} of what data ranks exchange run beside computing", duration(e.step.seconds.hidden));
  return text;
}

std::string memory_text(const Estimate& e) {
  const std::int64_t room = e.hardware.profile.memory_bytes;
  return e.bytes <= room
             ? fmt::format("{} of {}", binary_bytes(e.bytes), binary_bytes(room))
             : fmt::format("does not fit: {} are needed, a device has {}", binary_bytes(e.bytes), binary_bytes(room));
}

void add_batch_lines(Table& summary, const TimeReport& report) {
  const Throughput& t = *report.throughput;
  const Profile& profile = report.estimate.hardware.profile;
  if (t.largest == 0) {
    summary.rows.push_back({"batches", fmt::format("a batch of 1 needs {}, {} has {}", binary_bytes(t.needed),
                                                   profile.name, binary_bytes(profile.memory_bytes))});
    return;
  }
  const BatchPoint& last = t.points.back();
  const std::string most = t.all ? fmt::format("a batch of {} and more fits", grouped(t.largest))
                                 : fmt::format("memory is full at a batch of {}: {} tokens/s", grouped(t.largest),
                                               whole(last.tokens_per_second));
  std::string knee = fmt::format("most of the time is spent on {} at every batch that fits", bound_name(last.bound));
  if (t.knee && *t.knee == 1) knee = "most of the time is computing at every batch";
  if (t.knee && *t.knee > 1)
    knee = fmt::format("the knee is a batch of {}, from which on most of the time is computing", grouped(*t.knee));
  summary.rows.push_back({"batches", knee + "; " + most});
}

std::string device_hours(double hours) {
  if (hours < 0.01) return "less than 0.01 device-hours";
  const std::string text = hours < 9.995 ? figure(hours) : whole(hours);
  return fmt::format("{} device-hour{}", text, text == "1" ? "" : "s");
}

void add_run_lines(Table& summary, const TimeReport& report) {
  const TrainingRun& run = *report.run;
  const std::string steps = whole(run.steps);
  summary.rows.push_back({fmt::format("{} tokens", compact(run.tokens)),
                          fmt::format("{} step{}: {}, {}", steps, steps == "1" ? "" : "s", duration(run.seconds),
                                      device_hours(run.device_hours))});
  const Profile& profile = report.estimate.hardware.profile;
  summary.rows.push_back({"energy", run.kilowatt_hours
                                        ? fmt::format("{}: all the while {} W a device, without its host",
                                                      energy(*run.kilowatt_hours), grouped(*profile.watts))
                                        : "not known: the profile has no watts"});
  summary.rows.push_back({"cost", run.usd ? fmt::format("{} at {}", dollars(*run.usd), run.price)
                                          : "not known: the profile has no price"});
}

Table summary_table(const TimeReport& report) {
  const Estimate& e = report.estimate;
  Table summary{"", {{"", false, Column::Kind::name}, {""}}};
  const auto add = [&](const std::string& name, const std::string& text) { summary.rows.push_back({name, text}); };
  add("model", describe(report.model));
  std::string types(encoding_of(e.workload.precision.weights).name);
  if (report.quantised)
    types = fmt::format("{} matrices of layers, all else {}", encoding_of(*report.quantised).name, types);
  if (report.stored) types = "weights as in the file, all else " + types;
  // A share of the peak that was given is of no attention in particular.
  const std::string attention =
      e.plain_share ? "" : fmt::format(" · attention {}", attention_name(report.materialised));
  add("workload", describe(e.workload) + " · " + types + attention + describe_training(e.workload));
  if (report.adapters) {
    add("adapters", fmt::format("{} of {} parameters ({}){}", grouped(report.adapters->adapters),
                                grouped(report.adapters->all), percent(report.adapters->share, 3),
                                training(report) ? ", which alone are trained" : ", not merged"));
  }
  add("on", hardware_text(report));
  const std::string layout = layout_text(e.workload.layout);
  if (!layout.empty()) {
    add("layout", layout + (report.replicas ? "; no layout was given, so each device has a batch of its own" : ""));
  }
  add(run_name(e.workload.phase), seconds_text(report));
  std::string rate = fmt::format("{} tokens/s", whole(e.tokens_per_second()));
  if (e.sequences > 1 || training(report))
    rate +=
        fmt::format(": {} of {} at a time{}", counted(std::llround(e.sequences), "sequence"),
                    counted(std::llround(e.tokens / e.sequences), "new token"),
                    e.hardware.devices > 1 ? fmt::format(", in all on {} devices", grouped(e.hardware.devices)) : "");
  add("throughput", rate);
  if (e.plain_share) {
    add("efficiency", fmt::format("{} of the peak, as given: no model of it", percent(*e.plain_share)));
  } else {
    add("utilisation", fmt::format("MFU {} of {} headline, HFU {} of {} computed; {} a device", percent(e.mfu()),
                                   flops(e.headline), percent(e.hfu()), flops(e.computed),
                                   rate_label(e.flops_per_second() / static_cast<double>(e.hardware.devices))));
    add("bound by", bounds_text(e));
    if (const std::string sent = traffic_text(e); !sent.empty()) add("traffic", sent);
    add("memory", memory_text(e));
  }
  if (report.throughput) add_batch_lines(summary, report);
  if (report.price)
    add("cost", fmt::format("{} for a million {}tokens at {}",
                            dollars(usd_per_million(*report.price, e.hardware.devices, e.tokens_per_second())),
                            e.workload.phase == Phase::decode    ? "output "
                            : e.workload.phase == Phase::prefill ? "prompt "
                                                                 : "",
                            report.price->text));
  if (report.run) add_run_lines(summary, report);
  return summary;
}

Table rows_table(const TimeReport& report) {
  const Estimate& e = report.estimate;
  Table table{"Time by part", {{"part", false, Column::Kind::name}, {"time", true}, {"share", true}}};
  table.columns.push_back({"", false, Column::Kind::bar, true, 4});
  if (training(report)) {
    table.columns.push_back({"forward", true, Column::Kind::text, false, 2});
    table.columns.push_back({"backward", true, Column::Kind::text, false, 2});
  }
  table.columns.push_back({"TFLOP/s", true});
  table.columns.push_back({"FLOP/byte", true, Column::Kind::text, false, 1});
  table.columns.push_back({"bound by"});
  const auto add = [&](const std::string& name, double seconds, double forward, double backward, double flops,
                       double bytes, const std::string& bound) {
    const double share = seconds / e.seconds;
    Cells row{name, seconds_cell(seconds), share_of(seconds, e.seconds), fmt::format("{:.6f}", share)};
    if (training(report)) {
      row.push_back(seconds_cell(forward));
      row.push_back(seconds_cell(backward));
    }
    row.push_back(flops > 0 ? Cell(figure(flops / seconds / 1e12), fmt::format("{:.6g}", flops / seconds / 1e12)) : "");
    row.push_back(bytes > 0 && flops > 0 ? Cell(figure(flops / bytes), fmt::format("{:.6g}", flops / bytes)) : "");
    row.push_back(bound);
    table.rows.push_back(std::move(row));
  };
  double flops = e.rows.empty() ? e.computed : 0, bytes = 0;
  for (const TimeRow& row : e.rows) {
    add(row.name, row.seconds(), row.at(Stage::forward), row.at(Stage::backward), row.flops, row.bytes,
        std::string(bound_name(row.bound())));
    flops += row.flops;
    bytes += row.bytes;
  }
  add("all", e.seconds, e.stages[0], e.stages[1], flops, bytes, "");
  table.totals = 1;
  return table;
}

Table batches_table(const TimeReport& report) {
  Table table{
      "Throughput by batch",
      {{"batch", true}, {"time", true}, {"tokens/s", true}, {"a sequence", true}, {"memory", true}, {"bound by"}}};
  for (const BatchPoint& point : report.throughput->points) {
    const double each =
        point.tokens_per_second / static_cast<double>(point.batch * report.estimate.workload.layout.data *
                                                      report.estimate.workload.layout.micro_batches);
    table.rows.push_back({grouped(point.batch), seconds_cell(point.seconds),
                          Cell(whole(point.tokens_per_second), fmt::format("{:.9g}", point.tokens_per_second)),
                          Cell(figure(each) + " tokens/s", fmt::format("{:.9g}", each)),
                          Cell(binary_bytes(point.bytes), std::to_string(point.bytes)),
                          std::string(bound_name(point.bound))});
  }
  return table;
}

OrderedJson rows_json(const Estimate& e) {
  OrderedJson rows = OrderedJson::array();
  for (const TimeRow& row : e.rows) {
    OrderedJson json = {{"name", row.name},
                        {"seconds", row.seconds()},
                        {"share", row.seconds() / e.seconds},
                        {"forward", row.at(Stage::forward)},
                        {"backward", row.at(Stage::backward)},
                        {"optimizer", row.at(Stage::optimizer)},
                        {"flops", number_json(row.flops)},
                        {"bytes", number_json(row.bytes)},
                        {"sent", number_json(row.sent)},
                        {"bound", bound_name(row.bound())}};
    for (const Bound bound : bounds)
      json["bound_by"][std::string(bound_name(bound))] = row.bound_by[static_cast<std::size_t>(bound)];
    rows.push_back(std::move(json));
  }
  return rows;
}

OrderedJson throughput_json(const Throughput& t) {
  OrderedJson json = {{"largest", t.largest}, {"knee", nullptr}, {"points", OrderedJson::array()}};
  if (t.knee) json["knee"] = *t.knee;
  for (const BatchPoint& point : t.points) {
    json["points"].push_back({{"batch", point.batch},
                              {"seconds", point.seconds},
                              {"tokens_per_second", point.tokens_per_second},
                              {"bytes", point.bytes},
                              {"bound", bound_name(point.bound)}});
  }
  return json;
}

OrderedJson run_json(const TrainingRun& run) {
  OrderedJson json = {{"tokens", number_json(run.tokens)},
                      {"steps", number_json(run.steps)},
                      {"seconds", run.seconds},
                      {"days", run.days()},
                      {"device_hours", run.device_hours},
                      {"kilowatt_hours_at_most", nullptr},
                      {"usd", nullptr},
                      {"price", run.price}};
  if (run.kilowatt_hours) json["kilowatt_hours_at_most"] = *run.kilowatt_hours;
  if (run.usd) json["usd"] = *run.usd;
  return json;
}

OrderedJson report_json(const TimeReport& report) {
  const Estimate& e = report.estimate;
  OrderedJson json = {{"schema", "reckon.time/1"}, {"model", report.model.name}};
  json["architecture"] = architecture_json(report.model);
  json["workload"] = workload_json(e.workload);
  json["workload"]["types"] = types_json(e.workload, report.quantised, report.stored);
  if (!e.plain_share) json["workload"]["attention"] = attention_name(report.materialised);
  if (training(report)) {
    json["workload"]["optimizer"] = optimizer_name(e.workload.optimizer);
    json["workload"]["recompute"] = recompute_name(e.workload.recompute);
  }
  json["hardware"] = {{"name", e.hardware.profile.name},
                      {"devices", e.hardware.devices},
                      {"type", compute_type_name(e.type)},
                      {"peak", number_json(e.peak)},
                      {"bandwidth", e.hardware.profile.memory_bandwidth},
                      {"memory", e.hardware.profile.memory_bytes}};
  if (const Link* network = network_in(e)) json["hardware"]["network"] = network->bandwidth;
  if (report.adapters) json["adapters"] = adapters_json(*report.adapters);
  json["layout"] = layout_json(e.workload.layout);
  json["layout"]["micro_batches"] = e.workload.layout.micro_batches;
  json["seconds"] = e.seconds;
  if (training(report) && !e.plain_share) {
    json["forward"] = e.stages[0];
    json["backward"] = e.stages[1];
    json["optimizer"] = e.stages[2];
    json["bubble"] = e.bubble;
  }
  if (!e.plain_share) {
    json["bytes"] = e.bytes;
    json["sent"] = by_group_json(e.step.sent);
    json["hidden_seconds"] = e.step.seconds.hidden;
    json["slowest_stage"] = e.step.slowest_stage;
  }
  json["tokens"] = number_json(e.tokens);
  json["tokens_per_second"] = e.tokens_per_second();
  json["flops"] = {{"headline", number_json(e.headline)}, {"computed", number_json(e.computed)}};
  json["flops_per_second"] = e.flops_per_second();
  json["mfu"] = e.mfu();
  json["hfu"] = e.hfu();
  json["efficiency"] = nullptr;
  if (e.plain_share) json["efficiency"] = *e.plain_share;
  json["parts"] = rows_json(e);
  if (report.throughput) json["batches"] = throughput_json(*report.throughput);
  if (report.price)
    json["cost"] = {
        {"usd_per_million_tokens", usd_per_million(*report.price, e.hardware.devices, e.tokens_per_second())},
        {"price", report.price->text}};
  if (report.run) json["training"] = run_json(*report.run);
  json["assumptions"] = e.assumptions;
  return json;
}

}  // namespace

RooflinePicture roofline_picture(const TimeReport& report) {
  const Estimate& e = report.estimate;
  const Profile& profile = e.hardware.profile;
  RooflinePicture picture;
  picture.title = fmt::format("{} on {}, {}", report.model.name, profile.title, phase_name(e.workload.phase));
  const double bandwidth = static_cast<double>(profile.memory_bandwidth);
  picture.roofs = {{fmt::format("peak: {}, {} GB/s", rate_label(e.peak), figure(bandwidth / 1e9)), e.peak, bandwidth},
                   {fmt::format("reached: {}, {} GB/s", rate_label(e.reached_flops), figure(e.reached_bandwidth / 1e9)),
                    e.reached_flops, e.reached_bandwidth}};
  for (const TimeRow& row : e.rows) {
    if (row.flops > 0 && row.bytes > 0)
      picture.points.push_back({row.name, row.flops / row.bytes, row.flops / row.seconds(), row.seconds() / e.seconds});
  }
  return picture;
}

Chart batches_chart(const TimeReport& report) {
  Chart chart{fmt::format("{} on {}: tokens/s by batch", report.model.name, report.estimate.hardware.profile.title),
              "batch",
              "tokens/s",
              true,
              true,
              {},
              {{"tokens/s", {}}}};
  for (const BatchPoint& point : report.throughput->points) {
    chart.x.push_back(static_cast<double>(point.batch));
    chart.series[0].values.push_back(point.tokens_per_second);
  }
  return chart;
}

Document time_document(const TimeReport& report) {
  Document document;
  const Estimate& e = report.estimate;
  document.json = report_json(report);
  document.parts.emplace_back(Heading{fmt::format("{} on {}: {} in {}", report.model.name, e.hardware.profile.name,
                                                  run_name(e.workload.phase), duration(e.seconds))});
  document.parts.emplace_back(summary_table(report));
  if (!e.rows.empty()) {
    document.parts.emplace_back(rows_table(report));
    if (report.roofline) document.parts.emplace_back(roofline_picture(report));
  } else {
    document.csv.push_back(rows_table(report));
  }
  if (report.batches && report.throughput && !report.throughput->points.empty()) {
    document.parts.emplace_back(batches_table(report));
    if (report.throughput->points.size() > 1) document.parts.emplace_back(batches_chart(report));
  }
  if (e.mfu() > 1) document.parts.emplace_back(Paragraph{mfu_beyond_peak});
  if (!e.assumptions.empty()) {
    std::string text = "Assumed:";
    for (const std::string& sentence : e.assumptions) text += " " + sentence + ";";
    text.back() = '.';
    document.parts.emplace_back(Paragraph{text});
  }
  return document;
}

}  // namespace reckon
