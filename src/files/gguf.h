// Reading the headers of GGUF files (versions 2 and 3), never the data.
// The format: "GGUF", version, the numbers of tensors and of key-value pairs, the pairs, for each tensor its name,
// extents, type and offset; then zeros up to the alignment, and the data. All little-endian, and unaligned up to there.
#pragma once

#include "files/tensor_file.h"

namespace reckon {

// The types of values in pairs, by the format's numbers.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Where the data of a tensor may begin, unless a pair general.alignment says otherwise.
inline constexpr std::uint64_t gguf_alignment = 32;

// A .gguf file, any of its shards (model-00002-of-00003.gguf, with the others beside it), or a folder that holds one of
// these and nothing else that it could be.
TensorFile read_gguf(const std::filesystem::path& path);

// The same of a single file from memory: `start` is the beginning of a file of `file_size` bytes, at least to the end
// of its header.
TensorFile parse_gguf(const std::filesystem::path& path, std::span<const std::byte> start, std::uint64_t file_size);

// Whether it is a GGUF file by its name or its first bytes, or a folder with such files and no safetensors.
bool is_gguf(const std::filesystem::path& path);

}  // namespace reckon
