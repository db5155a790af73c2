#include "files/read_text.h"

#include <fcntl.h>

#include <array>

#include "files/descriptor.h"
#include "files/numbers.h"

namespace reckon {

std::string read_text(const std::filesystem::path& path, std::uint64_t limit) {
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
    if (text.size() > limit)
      throw Error(fmt::format("{}: is longer than {} bytes, the most that is read of such a file", path.string(),
                              grouped(limit)));
  }
}

}  // namespace reckon
