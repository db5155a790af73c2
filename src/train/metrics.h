// metrics.jsonl: what happened in a run, one JSON object a line (docs/training.md lists their keys).
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace reckon {

class MetricsFile {
 public:
  // Goes on after step `step`: lines of later steps, of the end, and one that was cut off are dropped.
  MetricsFile(std::filesystem::path path, std::int64_t step);

  void add(const nlohmann::ordered_json& line);  // buffered
  void flush();                                  // what was added is in the file, whatever becomes of this process

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

// All whole lines; an Error where there is no such file.
std::vector<nlohmann::ordered_json> read_metrics(const std::filesystem::path& path);

}  // namespace reckon
