// The folder of a training run:
//   metrics.jsonl                 what happened, line by line
//   tokenizer.json, data/         the run's tokenizer and the text in its ids, where it trains on text
//   checkpoints/step-000123/      a state to go on from; whole, or not there
// A folder that is being written or removed has a name with a dot in front, and is cleared away by the next run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "files/descriptor.h"
#include "model/checkpoints.h"

namespace reckon {

class RunFolder {
 public:
  // Makes the folder if need be, clears away what an end in the middle left behind, and keeps other processes out as
  // long as this lives. An Error where it cannot be written, or another process trains in it.
  explicit RunFolder(std::filesystem::path path);
  // Unless keep() or save() was called, takes away what was not there before.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  void keep() { kept_ = true; }  // once there is something to keep: the run begins

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

  // Calls `fill` with an empty folder, adds training.json with `state` and what tells that every file is as it was
  // written, syncs all of it, and gives it its name in one step. On any failure nothing of it is left.
  std::filesystem::path save(std::int64_t step, const std::function<void(const std::filesystem::path&)>& fill,
                             nlohmann::ordered_json state);

  // Removes all checkpoints but the last `keep` and that of step `best`.
  void prune(std::int64_t keep, std::int64_t best);

 private:
  void lock();

  std::filesystem::path path_;
  bool kept_ = false;
  std::vector<std::filesystem::path> new_contents_, new_folders_;  // not there before; folders innermost first
  Descriptor lock_{-1};
};

// The state of a checkpoint, once every file was found to be as it was written; else an Error says what is not.
nlohmann::ordered_json read_state(const std::filesystem::path& checkpoint);

}  // namespace reckon
