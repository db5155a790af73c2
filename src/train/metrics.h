// metrics.jsonl: what happened in a run, one JSON object a line (docs/training.md lists their keys).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/descriptor.h"

namespace reckon {

class MetricsFile {
 public:
  // Goes on after step `step`: lines of later steps, of the end, and one that was cut off are dropped. `listener`,
  // which may be empty, is told of each line that is added.
  using Listener = std::function<void(const nlohmann::ordered_json&)>;
  MetricsFile(std::filesystem::path path, std::int64_t step, Listener listener = {});
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  void add(const nlohmann::ordered_json& line);  // buffered
  void flush();                                  // what was added is in the file, whatever becomes of this process

 private:
  std::filesystem::path path_;
  Listener listener_;
  Descriptor file_{-1};
  std::string waiting_;  // lines that are not in the file yet
};

// All whole lines; an Error where there is no such file.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace reckon
