// Which GGUF file of a folder is meant, and the shards that belong together.
#include <fmt/format.h>
#include <reckon/error.h>

#include <set>
#include <unordered_set>
#include <utility>

#include "files/gguf.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_shards = 99'999;  // their names have five digits

TensorFile read_one(const fs::path& path) {
  const MappedFile file(path);  // of which only the header's pages are touched
  return parse_gguf(path, file.bytes(), file.bytes().size());
}

std::string shard_ending(std::int64_t number, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// A whole number among the pairs, or what stands for it where there is none.
std::int64_t number_of(const TensorFile::File& file, const char* key, std::int64_t otherwise) {
  const auto found = file.pairs.find(key);
  if (found == file.pairs.end()) return otherwise;
  const bool small = found->is_number_unsigned() ? found->get<std::uint64_t>() < std::uint64_t{1} << 62
                                                 : found->is_number_integer() && found->get<std::int64_t>() >= 0;
  if (!small) throw Error(fmt::format("{}: pair {} is no whole number from 0", file.path.string(), quote(key)));
  return found->get<std::int64_t>();
}

// The shards beside a file that says to be one of `count`.
TensorFile read_shards(TensorFile given, std::int64_t count) {
  const fs::path path = given.files.front().path;
  const std::string where = path.string(), name = path.filename().string();
  const std::int64_t own = number_of(given.files.front(), "split.no", -1);
  if (count > most_shards || own < 0 || own >= count)
    throw Error(fmt::format("{}: says to be shard {} of {}, expected numbers from 0 of at most {} shards", where, own,
                            count, grouped(most_shards)));
  const std::string ending = shard_ending(own, count);
  if (!name.ends_with(ending))
    throw Error(fmt::format("{}: is one of {} shards, whose name should end in {}, so that the others are found", where,
                            count, ending));
  const std::string stem = name.substr(0, name.size() - ending.size());

  TensorFile all;
  std::unordered_set<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) {
    TensorFile one =
        i == own ? std::exchange(given, {}) : read_one(path.parent_path() / (stem + shard_ending(i, count)));
    TensorFile::File& file = one.files.front();
    if (number_of(file, "split.no", -1) != i || number_of(file, "split.count", 1) != count)
      throw Error(fmt::format("{}: says to be shard {} of {}, expected {} of {}", file.path.string(),
                              number_of(file, "split.no", -1), number_of(file, "split.count", 1), i, count));
    for (TensorInfo& tensor : one.tensors) {
      if (!names.insert(tensor.name).second)
        throw Error(fmt::format("{}: tensor {} is in another shard as well", file.path.string(), quote(tensor.name)));
      tensor.file = static_cast<std::size_t>(i);
      all.tensors.push_back(std::move(tensor));
    }
    if (i > 0) file.pairs = nullptr;
    all.files.push_back(std::move(file));
  }
  const std::int64_t expected = number_of(all.files.front(), "split.tensors.count", std::ssize(all.tensors));
  if (std::ssize(all.tensors) != expected)
    throw Error(fmt::format("{}: the {} shards hold {} tensors, expected {}", all.files.front().path.string(), count,
                            grouped(all.tensors.size()), grouped(expected)));
  return all;
}

// The GGUF files of a folder, of shards the first; nothing where there are safetensors, or it cannot be read.
std::set<fs::path> gguf_in(const fs::path& folder) {
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) return {};
    const std::size_t of = name.rfind("-of-");
    const bool later_shard = of != std::string::npos && of >= 6 && name.size() == of + 14 && name[of - 6] == '-' &&
                             name.compare(of - 5, 5, "00001") != 0;
    if (name.ends_with(".gguf") && !later_shard) files.insert(entry->path());
  }
  return files;
}

}  // namespace

TensorFile read_gguf(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const std::set<fs::path> files = gguf_in(path);
    if (files.size() != 1)
      throw Error(fmt::format("{}: holds {} GGUF models, expected one; name the file", path.string(), files.size()));
    return read_gguf(*files.begin());
  }
  TensorFile file = read_one(path);
  const std::int64_t shards = number_of(file.files.front(), "split.count", 1);
  if (shards > 1) return read_shards(std::move(file), shards);
  return file;
}

bool is_gguf(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !gguf_in(path).empty();
  if (path.string().ends_with(".gguf")) return true;
  if (is_tensor_file_name(path.string()) || !fs::is_regular_file(path, error)) return false;
  return read_start(path, 4) == "GGUF";
}

}  // namespace reckon
