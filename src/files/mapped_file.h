// A whole file as read-only memory; the system reads a page when it is first touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reckon {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace reckon
