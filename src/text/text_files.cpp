#include "text/text_files.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <cstdint>

#include "files/read_text.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_piped = 16ull << 30;

}  // namespace

TextFiles::TextFiles(std::span<const fs::path> paths) {
  read_.reserve(paths.size());  // short strings move with their text
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw Error(fmt::format("{}: is a folder; expected a text file", path.string()));
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
