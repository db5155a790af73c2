#include "text/text_files.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <cstdint>

#include "files/read_text.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_piped = 16ull << 30;

void append_files_in(const fs::path& folder, std::vector<fs::path>& files) {
  const std::ptrdiff_t before = std::ssize(files);
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    std::error_code unknown;  // of a link to nowhere, say
    if (hidden && at->is_directory(unknown)) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file(unknown)) files.push_back(at->path());
  }
  if (error) throw Error(fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  if (std::ssize(files) == before) throw Error(fmt::format("{}: there is no file in this folder", folder.string()));
  std::sort(files.begin() + before, files.end());
}

}  // namespace

TextFile::TextFile(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    mapped_.emplace(path);
  } else {
    read_ = read_text(path, most_piped);
  }
}

std::string_view TextFile::text() const {
  if (!mapped_) return read_;
  return {reinterpret_cast<const char*>(mapped_->bytes().data()), mapped_->bytes().size()};
}

TextFiles::TextFiles(std::span<const fs::path> given) {
  for (const fs::path& path : given) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      append_files_in(path, paths_);
    } else {
      paths_.push_back(path);
    }
  }
  for (const fs::path& path : paths_) files_.emplace_back(path);
  for (const TextFile& file : files_) texts_.push_back(file.text());
}

std::size_t TextFiles::bytes() const {
  std::size_t sum = 0;
  for (const std::string_view text : texts_) sum += text.size();
  return sum;
}

}  // namespace reckon
