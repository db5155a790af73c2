// What the writers of safetensors and of GGUF files share: a tensor at a time is in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "files/atomic_write.h"
#include "files/encoding.h"

namespace reckon {

struct TensorToWrite {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;  // in PyTorch's order
};
std::uint64_t bytes_of(const TensorToWrite& tensor);

// Takes the bytes of a tensor, piece by piece.
using TensorSink = std::function<void(std::span<const std::byte>)>;
// Is called for each tensor in their order, and gives all of its bytes to the sink.
using TensorSource = std::function<void(std::size_t tensor, const TensorSink& sink)>;

// The data of a file: the tensors, each with zeros behind it up to a multiple of `alignment`. `path` is for errors.
void write_tensors(AtomicFile& file, const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                   std::uint64_t alignment, const TensorSource& data);

}  // namespace reckon
