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

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    std::error_code unknown;  // of a link to nowhere, say
    if (hidden && at->is_directory(unknown)) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file(unknown)) files.push_back(at->path());
  }
  if (error) throw Error(fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  if (files.empty()) throw Error(fmt::format("{}: there is no file in this folder", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> with_folders_opened(std::span<const fs::path> paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    const std::vector<fs::path> found = folder ? files_in(path) : std::vector{path};
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

TextFiles::TextFiles(std::span<const fs::path> given) : paths_(with_folders_opened(given)) {
  read_.reserve(paths_.size());  // short strings move with their text
  for (const fs::path& path : paths_) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
      const std::span<const std::byte> bytes = mapped_.emplace_back(path).bytes();
      texts_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else {
      texts_.push_back(read_.emplace_back(read_text(path, most_piped)));
    }
  }
}

std::size_t TextFiles::bytes() const {
  std::size_t sum = 0;
  for (const std::string_view text : texts_) sum += text.size();
  return sum;
}

}  // namespace reckon
