#include "report/hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "files/numbers.h"

namespace reckon {
namespace {

// 989.4, 3,352, 7.17
std::string short_number(double value) {
  std::string text = fmt::format("{:.{}f}", value, value < 10 ? 2 : 1);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return group_digits(text);
}

// Empty where the device has no such type.
std::string teraflops(const Profile& profile, ComputeType type) {
  const auto found = profile.peak.find(type);
  return found == profile.peak.end() ? "" : short_number(static_cast<double>(found->second) / 1e12);
}

// bfloat16 and float16, which most devices compute alike: "989.4"; else of which it is: "65 fp16".
std::string sixteen_bits(const Profile& profile) {
  std::string brain = teraflops(profile, ComputeType::bfloat16);
  const std::string half = teraflops(profile, ComputeType::float16);
  if (brain == half) return brain;
  return brain.empty() ? half + " fp16" : brain + " bf16";
}

std::string gibibytes(std::int64_t bytes) { return short_number(static_cast<double>(bytes) / (1 << 30)); }
std::string gigabytes(std::int64_t bytes) { return short_number(static_cast<double>(bytes) / 1e9); }

// "2 × 300, 8 × 32": devices and GB/s
std::string links_within(const Profile& profile) {
  std::vector<std::string> texts;
  for (const Link& link : profile.links)
    if (link.devices != 0) texts.push_back(fmt::format("{} × {}", grouped(link.devices), gigabytes(link.bandwidth)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string link_between(const Profile& profile) {
  const bool there = !profile.links.empty() && profile.links.back().devices == 0;
  return there ? gigabytes(profile.links.back().bandwidth) : "";
}

Table devices_table(const std::vector<Profile>& profiles) {
  Table table;
  table.columns.push_back({"name", false, Column::Kind::name});
  table.columns.push_back({"kind", false, Column::Kind::text, false, 3});
  for (ComputeType type : compute_types) {
    if (type == ComputeType::float16) continue;  // beside bfloat16
    const bool both = type == ComputeType::bfloat16, first = both || type == ComputeType::float32;
    table.columns.push_back(
        {both ? "16 bits" : std::string(compute_type_name(type)), true, Column::Kind::text, false, first ? 0 : 4});
  }
  table.columns.push_back({"GiB", true});
  table.columns.push_back({"GB/s", true});
  table.columns.push_back({"links", false});
  table.columns.push_back({"network", true, Column::Kind::text, false, 1});
  table.columns.push_back({"watts", true, Column::Kind::text, false, 2});
  table.columns.push_back({"USD/h", true});
  for (const Profile& profile : profiles) {
    std::vector<Cell> row{profile.name, std::string(device_kind_name(profile.kind))};
    for (ComputeType type : compute_types) {
      if (type == ComputeType::float16) continue;
      row.push_back(type == ComputeType::bfloat16 ? sixteen_bits(profile) : teraflops(profile, type));
    }
    row.push_back(gibibytes(profile.memory_bytes));
    row.push_back(gigabytes(profile.memory_bandwidth));
    row.push_back(links_within(profile));
    row.push_back(link_between(profile));
    row.push_back(profile.watts ? grouped(*profile.watts) : "");
    row.push_back(profile.price ? fmt::format("{:.2f}", profile.price->usd_per_hour) : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "32.00 MiB of 8 cores"
std::string cache_text(const Profile& profile, std::int64_t level) {
  for (const Cache& cache : profile.caches)
    if (cache.level == level)
      return binary_bytes(cache.bytes) + (cache.cores > 1 ? fmt::format(" of {} cores", cache.cores) : "");
  return "";
}

Table processors_table(const std::vector<Profile>& profiles) {
  Table table;
  table.title = "Processors";
  table.columns = {{"name", false, Column::Kind::name},
                   {"cores", true},
                   {"GHz", true},
                   {"vector units"},
                   {"L1", true},
                   {"L2", true},
                   {"L3", true}};
  for (const Profile& profile : profiles) {
    if (!profile.processor) continue;
    const Processor& processor = *profile.processor;
    table.rows.push_back({profile.name, grouped(processor.cores),
                          fmt::format("{:.2f}", static_cast<double>(processor.clock) / 1e9),
                          fmt::format("{} × {} bits", processor.vector_units, processor.vector_bits),
                          cache_text(profile, 1), cache_text(profile, 2), cache_text(profile, 3)});
  }
  return table;
}

Table notes_table(const std::vector<Profile>& profiles) {
  Table table;
  table.title = "Notes";
  table.columns = {{"name", false, Column::Kind::name}, {"what it is"}, {"price"}, {"note"}};
  for (const Profile& profile : profiles) {
    const std::string price = profile.price ? fmt::format("{}, {}", profile.price->kind, profile.price->date) : "none";
    table.rows.push_back({profile.name, profile.title, price, profile.note});
  }
  return table;
}

Table sources_table(const std::vector<Profile>& profiles) {
  Table table;
  table.title = "Sources";
  table.columns = {{"name", false, Column::Kind::name}, {"for"}, {"source"}, {"address"}};
  for (const Profile& profile : profiles)
    for (const Source& source : profile.sources)
      table.rows.push_back(
          {profile.name, fmt::format("{}", fmt::join(source.figures, ", ")), source.title, source.url});
  return table;
}

// One line a figure.
Table csv_table(const std::vector<Profile>& profiles) {
  Table table;
  table.columns = {{"name"}, {"figure"}, {"value", true}, {"unit"}};
  for (const Profile& profile : profiles) {
    const auto add = [&](const std::string& figure, const auto& value, const char* unit) {
      const std::string text = fmt::format("{}", value);
      table.rows.push_back({profile.name, figure, Cell(text, text), unit});
    };
    for (const auto& [type, flops] : profile.peak)
      add(fmt::format("peak of {}", compute_type_name(type)), flops, "FLOP/s");
    add("memory", profile.memory_bytes, "bytes");
    add("memory bandwidth", profile.memory_bandwidth, "bytes/s");
    for (const Cache& cache : profile.caches) {
      add(fmt::format("cache of level {}", cache.level), cache.bytes, "bytes");
      add(fmt::format("cores that share a cache of level {}", cache.level), cache.cores, "cores");
    }
    for (const Link& link : profile.links)
      add(link.devices == 0 ? "link between nodes" : fmt::format("link of {} devices", link.devices), link.bandwidth,
          "bytes/s");
    if (profile.watts) add("power", *profile.watts, "W");
    if (profile.price) add("price", profile.price->usd_per_hour, "USD/h");
  }
  return table;
}

}  // namespace

Document hardware_document(const std::vector<Profile>& profiles, bool sources) {
  Document document;
  document.parts.emplace_back(
      Paragraph{"Peaks are dense, in TFLOP/s (TOP/s of int8); 16 bits are bfloat16 and float16 alike, unless one is "
                "named. GiB and GB/s are of the memory. Links: how many devices one joins, and the GB/s of each of "
                "them in one direction; network: the same between nodes. Prices are "
                "examples."});
  document.parts.emplace_back(devices_table(profiles));
  const auto has_cores = [](const Profile& profile) { return profile.processor.has_value(); };
  if (std::any_of(profiles.begin(), profiles.end(), has_cores)) document.parts.emplace_back(processors_table(profiles));
  if (sources) {
    document.parts.emplace_back(notes_table(profiles));
    document.parts.emplace_back(sources_table(profiles));
  }
  document.csv = {csv_table(profiles)};
  document.json = {{"schema", "reckon.hardware/1"}, {"hardware", nlohmann::ordered_json::array()}};
  for (const Profile& profile : profiles) document.json["hardware"].push_back(profile_json(profile));
  return document;
}

}  // namespace reckon
