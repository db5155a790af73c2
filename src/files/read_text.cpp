#include "files/read_text.h"

#include <fcntl.h>

#include <array>

#include "files/descriptor.h"
#include "files/numbers.h"

namespace reckon {

std::string read_text(const std::filesystem::path& path, std::uint64_t limit,
                      const std::function<void(std::string_view)>& check) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw file_error(path, "cannot be opened");
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(file.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(path, "cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (check) check(text);
    if (text.size() > limit)
      throw Error(fmt::format("{}: is longer than {} bytes, the most that is read of such a file", path.string(),
                              grouped(limit)));
  }
}

std::optional<std::string> read_start(const std::filesystem::path& path, std::size_t count) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t more = ::read(file.number(), text.data() + have, count - have);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return std::nullopt;
    if (more == 0) break;
    have += static_cast<std::size_t>(more);
  }
  text.resize(have);
  return text;
}

}  // namespace reckon
