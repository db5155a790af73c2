// Files of named tensors: which they hold, in which encoding and shape, and where. All of it is checked before any of
// the data is read. safetensors and GGUF are kinds of such files; nothing outside of this room knows their forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/encoding.h"
#include "files/mapped_file.h"

namespace reckon {

struct TensorInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::size_t file = 0;              // index into TensorFile::files
  std::uint64_t begin = 0, end = 0;  // bytes after that file's data_begin
};

// One file, or all shards of a checkpoint.
struct TensorFile {
  struct File {
    std::filesystem::path path;
    std::uint64_t size = 0;
    std::uint64_t data_begin = 0;
    std::map<std::string, std::string> metadata;  // of safetensors
    nlohmann::json pairs =
        nullptr;  // of GGUF: key → number, boolean, string or an array of these; of shards the first's
  };
  std::vector<File> files;
  std::vector<TensorInfo> tensors;  // by file, then in the order of their data; names are unique

  // Throws Error where a file is not as long any more as it was.
  std::vector<MappedFile> map() const;
  std::span<const std::byte> bytes_of(const TensorInfo& tensor, std::span<const MappedFile> mapped) const;
};

// A file of tensors, an index with its shards beside it, a shard with the others beside it, or a folder that holds one
// of these.
TensorFile read_tensor_file(const std::filesystem::path& path);

// Whether something of this name, or a file that begins so, is a file of tensors or an index of such files.
bool is_tensor_file_name(std::string_view name);
bool begins_like_tensor_file(std::string_view start);

// For the readers of each kind.
std::string bracketed(const std::vector<std::int64_t>& shape);  // [2, 3]
// The elements of a tensor's shape, and its bytes; an Error is about the shape.
std::uint64_t measure(TensorInfo& tensor);
// Sorts the tensors of a file; each must lie inside of the data, apart from all others, under a name of its own.
void sort_and_check(TensorFile& file);

}  // namespace reckon
