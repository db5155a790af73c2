// A file that is written bit by bit and appears under its name only when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "files/descriptor.h"

namespace reckon {

// Writes beside the target; commit() syncs and renames. Without it, or on any failure, the old file stays and nothing
// is left behind. The target must be a regular file or not there yet. Errors name it.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);                           // behind what was written
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);  // over what was written
  void commit();

 private:
  std::filesystem::path given_, target_, beside_;
  Descriptor file_{-1};
};

}  // namespace reckon
