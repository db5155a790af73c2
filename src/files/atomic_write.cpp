#include "files/atomic_write.h"

#include <fcntl.h>

#include "files/atomic_file.h"

namespace reckon {
namespace {

// A terminal, a pipe, /dev/null.
bool is_device(const std::filesystem::path& target) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(target, unknown);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void write_device(const std::filesystem::path& target, std::string_view text) {
  const Descriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) throw file_error(target, "cannot be written");
  while (!text.empty()) {
    const ssize_t count = ::write(file.number(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(target, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void atomic_write(const std::filesystem::path& target, std::string_view text) {
  if (is_device(target)) return write_device(target, text);
  AtomicFile file(target);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void check_writable(const std::filesystem::path& target) {
  if (!is_device(target)) {
    AtomicFile nothing(target);
  } else if (::access(target.c_str(), W_OK) != 0) {
    throw file_error(target, "cannot be written");
  }
}

}  // namespace reckon
