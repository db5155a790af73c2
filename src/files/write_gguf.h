// Writing a GGUF file, of version 3.
#pragma once

#include <nlohmann/json.hpp>

#include "files/gguf.h"
#include "files/write_tensors.h"

namespace reckon {

struct GgufPair {
  std::string key;
  GgufType type;         // of an array, that of its elements
  nlohmann::json value;  // a scalar, or an array of scalars
};

// With the type that the value has: whole numbers of 32 bits where that is enough, signed if they say so; float32 where
// that is exact. An array takes the widest that one of its elements needs.
GgufPair gguf_pair(std::string key, nlohmann::json value);

// The same arguments give the same file; it appears under its name when it is whole.
void write_gguf(const std::filesystem::path& path, std::span<const GgufPair> pairs,
                std::span<const TensorToWrite> tensors, const TensorSource& data);

// The bytes that such a file has: up to its data, that of a tensor with what fills it up to the next, and in all.
std::uint64_t gguf_header_size(std::span<const GgufPair> pairs, std::span<const TensorToWrite> tensors);
std::uint64_t gguf_data_size(std::uint64_t bytes);
std::uint64_t gguf_size(std::span<const GgufPair> pairs, std::span<const TensorToWrite> tensors);

}  // namespace reckon
