// Files that appear under their name only when they are whole: a reader sees the old one or the new, never a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "files/descriptor.h"
#include "files/piece_writer.h"

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
  PieceWriter pieces_;
};

// The whole text in one step. A target that is no regular file (a terminal, a pipe, /dev/null) is written to directly.
void atomic_write(const std::filesystem::path& target, std::string_view text);

// An Error where atomic_write() would fail, but for a disk that is full by then.
void check_writable(const std::filesystem::path& target);

// With the folders above it, where they are not there yet.
void make_folder(const std::filesystem::path& folder);

// The names in it survive a crash from here on. Some file systems cannot sync a folder, so failure is no error.
void sync_folder(const std::filesystem::path& folder);

}  // namespace reckon
