// An open file descriptor that closes itself, writing all of something to it, and the sentence for a call that failed.
#pragma once

#include <fmt/core.h>
#include <reckon/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace reckon {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// False: errno says why it ended before the last byte.
[[nodiscard]] inline bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// "model.safetensors: cannot be opened: No such file or directory"
inline Error file_error(const std::filesystem::path& path, std::string_view problem, int code = errno) {
  return Error(fmt::format("{}: {}: {}", path.string(), problem, std::generic_category().message(code)));
}

}  // namespace reckon
