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

  // The whole file will be read again and again: maps it now, in huge pages where the system can.
  void expect_all() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace reckon
