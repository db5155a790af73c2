#include "files/machine_memory.h"

#include <fmt/format.h>
#include <reckon/error.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "files/numbers.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// A number that is all of a file; "max" is none.
std::int64_t limit_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : unlimited;
}

// Control groups nest: the least limit from this process' own up to the root. /proc/self/cgroup has a line for each
// hierarchy, of version 2 "0::/path", of version 1 "5:memory:/path".
std::int64_t group_limit() {
  std::int64_t least = unlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool old = controllers == "memory";
    if (!old && !controllers.empty()) continue;
    const fs::path root = old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    const char* const name = old ? "memory.limit_in_bytes" : "memory.max";
    for (fs::path own = line.substr(second + 1);; own = own.parent_path()) {
      least = std::min(least, limit_in(root / own.relative_path() / name));
      if (!own.has_relative_path()) break;
    }
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
  std::ifstream facts("/proc/meminfo");  // lines such as "MemAvailable:   12345678 kB"
  for (std::string name; facts >> name; facts.ignore(unlimited, '\n')) {
    std::int64_t kibibytes = 0;
    if (name == "MemAvailable:" && facts >> kibibytes) return std::min(all, kibibytes * 1024);
  }
  return all;
}

void check_memory(const std::string& what, Count bytes, std::int64_t left) {
  const Count room = left > 0 ? left : machine_memory();
  if (bytes <= room) return;
  throw Error(fmt::format("{} take {}, but {} {} of memory{}", what, binary_bytes(bytes),
                          left > 0 ? "there are" : "this machine has", binary_bytes(room), left > 0 ? " left" : ""));
}

}  // namespace reckon
