#include "files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace reckon {
namespace {

constexpr int most_attempts = 100;

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : given_(target) {
  std::error_code missing;                                // a new file has no canonical path yet, and needs none
  target_ = std::filesystem::canonical(given_, missing);  // a link keeps pointing to the file
  if (missing) target_ = given_;
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) throw file_error(given_, "cannot be written", EISDIR);
  // The rename would replace a write-protected file without asking.
  if (exists && ::access(target_.c_str(), W_OK) != 0) throw file_error(given_, "cannot be written");
  for (int attempt = 0; attempt < most_attempts && !file_; ++attempt) {
    beside_ = target_;
    beside_.replace_filename(fmt::format(".{}.{}-{}.tmp", target_.filename().string(), ::getpid(), attempt));
    file_ = Descriptor(::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) throw file_error(given_, "cannot be written");
  if (exists) (void)::fchmod(file_.number(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(beside_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(given_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(given_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.number()) != 0) throw file_error(given_, "cannot be written");
  if (::rename(beside_.c_str(), target_.c_str()) != 0) throw file_error(given_, "cannot be written");
  file_ = Descriptor(-1);

  // The new name itself is only safe once its folder is; some file systems cannot sync one, so failure is no error.
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) (void)::fsync(directory.number());
}

}  // namespace reckon
