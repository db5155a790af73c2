// Reading the headers of safetensors files, never the data, and writing such files.
// The format: 8 bytes with the length of the header (little-endian), the header in JSON, the data without gaps.
#pragma once

#include "files/tensor_file.h"
#include "files/write_tensors.h"

namespace reckon {

// A .safetensors file, a model.safetensors.index.json with its shards beside it, or a folder that holds either.
TensorFile read_safetensors(const std::filesystem::path& path);

// A single file, whatever its name.
TensorFile read_safetensors_file(const std::filesystem::path& path);

// The same from memory: `start` is the beginning of a file of `file_size` bytes, at least to the end of its header.
TensorFile parse_safetensors(const std::filesystem::path& path, std::span<const std::byte> start,
                             std::uint64_t file_size);

bool is_safetensors_name(std::string_view name);
bool begins_like_safetensors(std::string_view start);

// In this order, without gaps. The file appears under its name when it is whole; on any failure nothing of it is left.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const TensorSource& data);

}  // namespace reckon
