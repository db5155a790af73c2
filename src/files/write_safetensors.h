// Writing a safetensors file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "files/safetensors.h"

namespace reckon {

struct TensorToWrite {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

// In this order, without gaps. The file is synced; on any failure nothing of it is left, and an Error says why.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors);

}  // namespace reckon
