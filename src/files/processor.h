// The processor of this machine, as the system describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reckon {

struct ProcessorDescription {
  struct Cache {
    std::int64_t level = 1;
    std::int64_t bytes = 0;  // of one such cache
    std::int64_t cores = 1;  // that share it
  };
  std::string name;           // "Intel(R) Xeon(R) Platinum 8480+"; where the system does not say: "unknown processor"
  std::string vendor;         // "Intel"; empty: not known
  std::int64_t cores = 1;     // processors of the system: cores, or threads of cores
  std::vector<Cache> caches;  // of data, by level; empty: not known
};

ProcessorDescription describe_processor();

// What /proc/cpuinfo says of one field of the first processor: "model name".
std::string cpuinfo_field(const std::string& cpuinfo, const std::string& field);
// "48K", "2048K", "260M" in bytes; 0: something else.
std::int64_t cache_size(const std::string& text);
// How many are in a list such as "0-3,8,10-11"; 0: something else.
std::int64_t listed_processors(const std::string& list);

}  // namespace reckon
