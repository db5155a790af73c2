// Which file of a folder holds the weights, and the shards that an index names.
#include <fmt/format.h>
#include <reckon/error.h>

#include <map>
#include <set>
#include <utility>

#include "files/descriptor.h"
#include "files/json_events.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "files/safetensors.h"

namespace reckon {
namespace {

constexpr std::uint64_t longest_index = 100'000'000;

// Takes the events of {"metadata": …, "weight_map": {"tensor": "file", …}}.
class IndexEvents final : public JsonEvents {
 public:
  explicit IndexEvents(std::string file) : file_(std::move(file)) {}
  std::map<std::string, std::string> weight_map;  // tensor → file
  bool had_map = false;

  void open_object() override {
    if (in_map_ && depth_ == 2) fail_entry("an object");
    ++depth_;
  }
  void open_array() override {
    if (depth_ == 0) throw Error(file_ + ": is an array, expected an object with a weight_map");
    if (in_map_ && depth_ == 1) throw Error(file_ + ": weight_map is an array, expected an object");
    if (in_map_ && depth_ == 2) fail_entry("an array");
    ++depth_;
  }
  void close() override { --depth_; }

  void key(std::string& name) override {
    if (depth_ == 1) {
      in_map_ = name == "weight_map";
      if (in_map_ && std::exchange(had_map, true)) throw Error(file_ + ": weight_map appears twice");
    } else if (in_map_ && depth_ == 2) {
      const auto [entry, is_new] = weight_map.try_emplace(std::move(name));
      entry_ = &*entry;
      if (!is_new) throw Error(fmt::format("{}: weight_map has {} twice", file_, quote(entry->first)));
    }
  }

  void scalar(const JsonScalar& value) override {
    if (depth_ == 0) throw Error(fmt::format("{}: is {}, expected an object", file_, describe(value)));
    if (!in_map_) return;
    if (depth_ == 1) throw Error(fmt::format("{}: weight_map is {}, expected an object", file_, describe(value)));
    const auto* text = std::get_if<std::string_view>(&value);
    if (!text) fail_entry(describe(value));
    // Shards lie beside their index; anything else could point at a file that was never meant to be read.
    if (text->empty() || *text == "." || *text == ".." ||
        text->find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos)
      fail_entry(describe(value));
    entry_->second = *text;
  }

 private:
  [[noreturn]] void fail_entry(const std::string& found) const {
    throw Error(fmt::format("{}: weight_map of {} is {}, expected the name of a file beside the index", file_,
                            quote(entry_->first), found));
  }

  std::string file_;
  int depth_ = 0;
  bool in_map_ = false;
  std::pair<const std::string, std::string>* entry_ = nullptr;
};

TensorFile read_index(const std::filesystem::path& path) {
  const std::string where = path.string();
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))  // a named pipe would wait for a writer
    throw Error(where + ": is not a regular file");
  IndexEvents index(where);
  read_json(read_text(path, longest_index), where + ": the index", index);
  if (!index.had_map) throw Error(where + ": has no weight_map, which says the file of each tensor");

  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index.weight_map) shards.insert(shard);

  TensorFile all;
  for (const std::string& shard : shards) {
    TensorFile one = read_safetensors_file(path.parent_path() / shard);
    for (TensorInfo& tensor : one.tensors) {
      const auto entry = index.weight_map.find(tensor.name);
      if (entry == index.weight_map.end())
        throw Error(fmt::format("{}: tensor {} of {} is not in the weight_map", where, quote(tensor.name), shard));
      if (entry->second != shard)
        throw Error(fmt::format("{}: tensor {} is in {}, but the weight_map says {}", where, quote(tensor.name), shard,
                                quote(entry->second)));
      tensor.file = all.files.size();
      all.tensors.push_back(std::move(tensor));
    }
    all.files.push_back(std::move(one.files.front()));
  }
  if (all.tensors.size() == index.weight_map.size()) return all;

  std::set<std::string_view> found;
  for (const TensorInfo& tensor : all.tensors) found.insert(tensor.name);
  for (const auto& [tensor, shard] : index.weight_map)
    if (!found.contains(tensor))
      throw Error(
          fmt::format("{}: tensor {} is not in {}, though the weight_map says so", where, quote(tensor), shard));
  return all;
}

// The weights of a folder: under their usual name, or whatever single file or index it holds.
std::filesystem::path weights_in(const std::filesystem::path& folder) {
  for (const char* usual : {"model.safetensors", "model.safetensors.index.json"})
    if (std::filesystem::exists(folder / usual)) return folder / usual;
  std::set<std::filesystem::path> files, indices;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) files.insert(entry.path());
    if (name.ends_with(".safetensors.index.json")) indices.insert(entry.path());
  }
  if (indices.size() == 1) return *indices.begin();
  if (indices.empty() && files.size() == 1) return *files.begin();
  throw Error(
      fmt::format("{}: holds {} safetensors files and {} indices, expected a model.safetensors or a "
                  "model.safetensors.index.json",
                  folder.string(), files.size(), indices.size()));
}

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& path) {
  try {
    const std::filesystem::path file = std::filesystem::is_directory(path) ? weights_in(path) : path;
    return file.extension() == ".json" ? read_index(file) : read_safetensors_file(file);
  } catch (const std::filesystem::filesystem_error& problem) {
    throw file_error(path, "cannot be opened", problem.code().value());
  }
}

}  // namespace reckon
