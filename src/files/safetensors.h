// The headers of safetensors files: which tensors they hold, of which type and shape, and where. Never the data.
// The format: 8 bytes with the length of the header (little-endian), the header in JSON, the data without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "files/encoding.h"

namespace reckon {

struct StoredTensorInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::size_t file = 0;              // index into SafetensorsHeader::files
  std::uint64_t begin = 0, end = 0;  // bytes after that file's data_begin
};

struct SafetensorsFile {
  std::filesystem::path path;
  std::uint64_t size = 0;
  std::uint64_t data_begin = 0;
  std::map<std::string, std::string> metadata;
};

// One file, or all shards of a checkpoint.
struct SafetensorsHeader {
  std::vector<SafetensorsFile> files;
  std::vector<StoredTensorInfo> tensors;  // by file, then in the order of their data; names are unique
};

// A .safetensors file, a model.safetensors.index.json with its shards beside it, or a folder that holds either.
SafetensorsHeader read_safetensors(const std::filesystem::path& path);

// A single file, whatever its name.
SafetensorsHeader read_safetensors_file(const std::filesystem::path& path);

// The same from memory: `start` is the beginning of a file of `file_size` bytes, at least to the end of its header.
SafetensorsHeader parse_safetensors(const std::filesystem::path& path, std::span<const std::byte> start,
                                    std::uint64_t file_size);

}  // namespace reckon
