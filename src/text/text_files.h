// Text files, as views that live as long as this does: files are mapped, pipes are read into memory.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/mapped_file.h"

namespace reckon {

// One text. Mapped, or read where it is no regular file.
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path);
  std::string_view text() const;

 private:
  std::optional<MappedFile> mapped_;
  std::string read_;
};

class TextFiles {
 public:
  // A folder stands for the files in it and in its folders, in the order of their paths, but for what has a name with a
  // dot in front. A file that cannot be read, or a folder without any, is an Error.
  explicit TextFiles(std::span<const std::filesystem::path> paths);

  std::span<const std::string_view> texts() const { return texts_; }
  std::span<const std::filesystem::path> paths() const { return paths_; }  // of each
  std::size_t bytes() const;                                               // of all together

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<TextFile> files_;
  std::vector<std::string_view> texts_;
};

}  // namespace reckon
