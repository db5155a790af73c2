#include "files/machine_memory.h"

#include <fmt/format.h>
#include <reckon/error.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string_view>
#include <system_error>

#include "files/numbers.h"

namespace reckon {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// A file of the system, whose size it does not tell beforehand; empty where there is none.
std::string system_file(const std::string& path) {
  std::string text;
  if (std::FILE* const file = std::fopen(path.c_str(), "r")) {
    char piece[4096];
    for (std::size_t size; (size = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, size);
    std::fclose(file);
  }
  return text;
}

// The number that a text begins with, behind spaces; "max" is none.
std::int64_t leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value > 0 ? value : unlimited;
}

// Control groups nest: the least limit from this process' own up to the root. /proc/self/cgroup has a line for each
// hierarchy, of version 2 "0::/path", of version 1 "5:memory:/path".
std::int64_t group_limit() {
  std::int64_t least = unlimited;
  const std::string groups = system_file("/proc/self/cgroup");
  for (std::size_t at = 0, end; at < groups.size(); at = end + 1) {
    end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool old = controllers == "memory";
    if (!old && !controllers.empty()) continue;
    const std::string root = old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup",
                      name = old ? "/memory.limit_in_bytes" : "/memory.max";
    std::string own = line.substr(second + 1);
    for (std::size_t slash; (slash = own.rfind('/')) != std::string::npos; own.resize(slash))
      least = std::min(least, leading_number(system_file(fmt::format("{}{}{}", root, own, name))));
    least = std::min(least, leading_number(system_file(root + name)));
  }
  return least;
}

}  // namespace

std::int64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return group_limit();
  return std::min(std::int64_t{pages} * page, group_limit());
}

std::int64_t available_memory() {
  const std::int64_t all = machine_memory();
  const std::string facts = system_file("/proc/meminfo");  // lines such as "MemAvailable:   12345678 kB"
  constexpr std::string_view name = "MemAvailable:";
  const std::size_t at = facts.find(name);
  if (at == std::string::npos) return all;
  const std::int64_t kibibytes = leading_number(std::string_view(facts).substr(at + name.size()));
  return kibibytes == unlimited ? all : std::min(all, kibibytes * 1024);
}

void check_memory(const std::string& what, Count bytes, std::int64_t left) {
  const Count room = left > 0 ? left : machine_memory();
  if (bytes <= room) return;
  throw Error(fmt::format("{} take {}, but {} {} of memory{}", what, binary_bytes(bytes),
                          left > 0 ? "there are" : "this machine has", binary_bytes(room), left > 0 ? " left" : ""));
}

}  // namespace reckon
