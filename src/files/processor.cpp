// Linux describes a processor in /proc/cpuinfo and its caches in /sys. Elsewhere there is a name at most.
#include "files/processor.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "files/read_text.h"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace reckon {
namespace {

constexpr std::string_view unknown = "unknown processor";

std::string whole_file(const std::string& path) {
  constexpr std::size_t most = 1 << 16;  // of all processors that /proc/cpuinfo may list, the first is enough
  return read_start(path, most).value_or("");
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(spaces) + 1 - begin));
}

// What it begins with is a number; the rest goes to `rest`. -1: it does not.
std::int64_t leading_number(std::string_view text, std::string_view& rest) {
  std::int64_t value = -1;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  rest = text.substr(static_cast<std::size_t>(at - text.data()));
  return error == std::errc() ? value : -1;
}

std::string vendor_name(const std::string& id) {
  return id == "GenuineIntel" ? "Intel" : id == "AuthenticAMD" ? "AMD" : id;
}

std::vector<ProcessorDescription::Cache> read_caches() {
  std::vector<ProcessorDescription::Cache> caches;
  constexpr int most = 16;  // that a processor lists
  for (int i = 0; i < most; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = trimmed(whole_file(folder + "type"));
    if (type.empty()) break;
    if (type == "Instruction") continue;
    std::string_view rest;
    const std::int64_t level = leading_number(trimmed(whole_file(folder + "level")), rest);
    const std::int64_t bytes = cache_size(trimmed(whole_file(folder + "size")));
    const std::int64_t cores = listed_processors(trimmed(whole_file(folder + "shared_cpu_list")));
    if (level < 1 || bytes < 1) continue;
    caches.push_back({level, bytes, std::max<std::int64_t>(1, cores)});
  }
  std::sort(caches.begin(), caches.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  caches.erase(
      std::unique(caches.begin(), caches.end(), [](const auto& a, const auto& b) { return a.level == b.level; }),
      caches.end());
  return caches;
}

}  // namespace

std::string cpuinfo_field(const std::string& cpuinfo, const std::string& field) {
  std::string_view rest = cpuinfo;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == field)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

std::int64_t cache_size(const std::string& text) {
  std::string_view unit;
  const std::int64_t number = leading_number(text, unit);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (number < 1 || number > most) return 0;
  if (unit.empty()) return number;
  if (unit == "K") return number << 10;
  return unit == "M" ? number << 20 : 0;
}

std::int64_t listed_processors(const std::string& list) {
  std::int64_t count = 0;
  for (std::string_view rest = list; !rest.empty();) {
    const std::int64_t first = leading_number(rest, rest);
    std::int64_t last = first;
    if (rest.starts_with('-')) last = leading_number(rest.substr(1), rest);
    if (first < 0 || last < first) return 0;
    count += last - first + 1;
    if (rest.empty()) break;
    if (!rest.starts_with(',')) return 0;
    rest.remove_prefix(1);
  }
  return count;
}

ProcessorDescription describe_processor() {
  ProcessorDescription found;
  const std::string cpuinfo = whole_file("/proc/cpuinfo");
  found.name = cpuinfo_field(cpuinfo, "model name");
  found.vendor = vendor_name(cpuinfo_field(cpuinfo, "vendor_id"));
#if defined(__APPLE__)
  char name[128] = {};
  std::size_t size = sizeof name - 1;
  if (::sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0) found.name = name;
#endif
  if (found.name.empty()) found.name = unknown;
  found.cores = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  found.caches = read_caches();
  return found;
}

}  // namespace reckon
